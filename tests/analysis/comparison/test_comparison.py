"""What is compared with what, which pairs count, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from benchmarker.analysis.comparison import Comparison, Row, Side, compare, gate
from benchmarker.analysis.comparison.resolution import Resolution, keep, resolution_for
from benchmarker.analysis.comparison.self_comparison import pairs_with_itself, resolution_of
from benchmarker.errors import UsageError
from benchmarker.experiment.options import RUN_OPTIONS
from benchmarker.experiment.replication import count_for
from benchmarker.experiment.spec import RunSpec
from benchmarker.records.keys import machine_name
from tests.support.campaign_records import WOBBLE, process, processes, with_grade, with_steadiness
from tests.support.records import make_failed_record, make_record

Record = dict[str, Any]
STEADY = tuple(reversed(WOBBLE))


def side(name: str, *records: Record | Sequence[Record]) -> Side:
    flat = [record for one in records for record in (one if isinstance(one, list) else [one])]
    return Side(name, flat)  # type: ignore[arg-type]


def other(seconds: float = 0.05, **changes: Any) -> list[Record]:
    return processes(seconds, wobble=STEADY, **{"framework__name": "mxnet", **changes})


def asked(records: list[Record], **members: Any) -> list[Record]:
    """Return records of runs that were asked for with other members of the specification."""
    return [{**record, "specification": {**record["specification"], **members}} for record in records]


def row_of(comparison: Comparison) -> Row:
    (row,) = comparison.rows
    return row


def verdict_of(row: Row) -> str | None:
    return row.verdict.verdict if row.verdict else None


# --- verdicts on records ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [(0.055, "slower"), (0.045, "faster"), (0.0501, "equivalent"), (0.051, "inconclusive")],
)
def test_the_pairs_of_a_campaign_give_ratio_and_verdict(seconds: float, verdict: str) -> None:
    row = row_of(compare([side("a", processes()), side("b", other(seconds))]))
    assert verdict_of(row) == verdict
    assert row.ratio == pytest.approx(seconds / 0.05, rel=0.005)
    assert row.paired is not None
    assert row.paired.pairs == 10
    assert row.ratio == pytest.approx(row.paired.ratio)
    assert (row.first.side, row.other.side) == ("a", "b")
    assert row.first.processes == 10
    assert row.keys["problem"] == "mnist_mlp"


def test_the_margin_is_asked_for() -> None:
    sides = [side("a", processes()), side("b", other(0.055))]
    assert verdict_of(row_of(compare(sides, margin=0.2))) == "equivalent"


def test_pairs_are_rounds_and_not_places_in_a_list() -> None:
    """Rounds in which the machine was slow for both sides are no difference between them."""
    slow = [2.0, 0.0, 1.0, 0.0, 3.0, 0.5]
    first = processes(wobble=slow)
    second = processes(0.055, wobble=slow, framework__name="mxnet")[::-1]
    row = row_of(compare([side("a", first), side("b", second)]))
    assert verdict_of(row) == "slower"
    assert row.ratio == pytest.approx(1.1)


def test_a_round_that_one_side_lacks_is_no_pair() -> None:
    second = [record for record in other(0.055) if record["replication"]["round"] not in (1, 4)]
    row = row_of(compare([side("a", processes()), side("b", second)]))
    assert row.paired is not None
    assert row.paired.pairs == 8
    assert row.first.processes == 8


def test_two_pairs_have_no_verdict() -> None:
    row = row_of(compare([side("a", processes()), side("b", other(0.055)[:2])]))
    assert verdict_of(row) is None
    assert row.paired is None
    assert row.why_none == "2 pairs, it takes 3"
    assert row.ratio == pytest.approx(1.1, rel=0.01)


def test_numbers_of_different_campaigns_are_described_and_not_judged() -> None:
    row = row_of(compare([side("a", processes()), side("b", other(0.10, campaign="d" * 32, day=2))]))
    assert verdict_of(row) is None
    assert row.paired is None
    assert row.why_none == "unpaired, descriptive only"
    assert row.ratio == pytest.approx(2.0, rel=0.01)
    assert (row.first.processes, row.other.processes) == (10, 10)


def test_of_several_campaigns_the_newest_with_enough_pairs_counts() -> None:
    """Repeating a comparison until it shows something shows it by chance."""
    first = [*processes(), *processes(campaign="d" * 32, day=2), *processes(campaign="e" * 32, day=3)[:1]]
    second = [
        *other(0.055),
        *other(0.05, campaign="d" * 32, day=2),
        *other(0.9, campaign="e" * 32, day=3)[:1],
    ]
    row = row_of(compare([side("a", first), side("b", second)]))
    assert row.ratio == pytest.approx(1.0, rel=0.01)
    assert verdict_of(row) == "equivalent"
    assert row.elsewhere == 11


def test_a_resumed_campaign_is_one() -> None:
    first, second = processes(), other(0.055)
    for records in (first, second):
        early = [record["id"] for record in records[:4]]
        for record in records[4:]:
            record["replication"].update(campaign="d" * 32, resumed=early)
    row = row_of(compare([side("a", first), side("b", second)]))
    assert row.paired is not None
    assert row.paired.pairs == 10
    assert row.elsewhere == 0


def test_an_inconclusive_row_tells_how_many_pairs_it_would_take() -> None:
    noise = [0.3 * (-1) ** i for i in range(10)]
    row = row_of(
        compare([side("a", processes()), side("b", processes(wobble=noise, framework__name="mxnet"))])
    )
    assert verdict_of(row) == "inconclusive"
    assert row.paired is not None
    assert row.pairs_needed == count_for(row.paired.deviation, 0.02) > 500
    assert row.smallest_effect is not None
    assert row.smallest_effect > 1.2


# --- what may not be ranked ------------------------------------------------------------------------


def test_disturbed_pairs_are_left_out_while_they_are_few() -> None:
    first = processes()
    first[3] = with_grade(process(0.5, number=3), "contaminated")
    row = row_of(compare([side("a", first), side("b", other(0.0501))]))
    assert row.skipped == {"contaminated": 1}
    assert row.paired is not None
    assert row.paired.pairs == 9
    assert verdict_of(row) == "equivalent"


def test_many_disturbed_pairs_leave_no_verdict() -> None:
    first = [with_grade(r, "contaminated") if i < 3 else r for i, r in enumerate(processes())]
    sides = [side("a", first), side("b", other(0.055))]
    row = row_of(compare(sides))
    assert verdict_of(row) is None
    assert row.why_none == "3 contaminated of 10 pairs"
    assert row.paired is not None
    assert row.paired.pairs == 10
    assert verdict_of(row_of(compare(sides, include_contaminated=True))) == "slower"


@pytest.mark.parametrize("kind", ["slowdown", "no_steady_state"])
def test_what_was_never_steady_is_never_ranked(kind: str) -> None:
    second = [with_steadiness(record, kind) for record in other(0.055)]
    row = row_of(compare([side("a", processes()), side("b", second)], include_contaminated=True))
    assert verdict_of(row) is None
    assert row.why_none == "10 no steady state of 10 pairs"


def test_what_never_settled_without_a_trend_is_as_noisy_as_it_is() -> None:
    second = [with_steadiness(record, "no_steady_state") for record in other(0.055)]
    for record in second:
        record["timing"]["steady_state"]["segments"].reverse()
        del record["timing"]["steady_state"]["segments"][1:]
    assert verdict_of(row_of(compare([side("a", processes()), side("b", second)]))) == "slower"


def test_a_number_that_a_finding_excludes_does_not_count() -> None:
    finding = {
        "kind": "compilation",
        "text": "",
        "advice": None,
        "excludes": True,
        "value": 1.0,
        "limit": 0.0,
    }
    second = other(0.055)
    for record in second:
        record["trust"] = {**record["trust"], "findings": [finding]}
    row = row_of(compare([side("a", processes()), side("b", second)], include_contaminated=True))
    assert (verdict_of(row), row.why_none) == (None, "10 compilation of 10 pairs")


def test_noise_and_a_disturbed_course_are_no_reason() -> None:
    second = [with_steadiness(with_grade(record, "noisy"), "disturbed") for record in other(0.055)]
    row = row_of(compare([side("a", processes()), side("b", second)]))
    assert verdict_of(row) == "slower"
    assert row.other.trust == {"noisy": 10}


def test_other_weights_are_another_function() -> None:
    second = other(0.055, digests__parameters=f"sha256:{'9' * 64}")
    row = row_of(compare([side("a", processes()), side("b", second)]))
    assert verdict_of(row) is None
    assert row.why_none == "not computed with the same values, digests of weights differ"


def test_runs_that_did_not_end_well_are_told() -> None:
    comparison = compare([side("a", processes(), make_failed_record()), side("b", other(0.055))])
    assert verdict_of(row_of(comparison)) == "slower"
    assert comparison.notes == ("runs of 'a' that did not end well, left out: 1",)
    late = [{**record, "status": "timeout"} for record in processes()[:4]]
    row = row_of(compare([side("a", late, processes()[4:]), side("b", other(0.055))]))
    assert row.first.processes == 6
    with pytest.raises(UsageError, match="'a' has none"):
        compare([side("a", make_failed_record()), side("b", other())])


# --- what is comparable ----------------------------------------------------------------------------


def test_another_work_is_refused_with_the_keys_that_differ() -> None:
    with pytest.raises(UsageError) as refused:
        compare([side("a", processes()), side("b", other(batch_size=8, problem__parameters__hidden1=64))])
    assert str(refused.value) == (
        "step times are compared for the same work only: 'a' and 'b' differ in problem_parameters.hidden1 (128 and "
        "64), batch_size (4 and 8)"
    )


def test_of_another_problem_the_parameters_are_not_told() -> None:
    with pytest.raises(UsageError) as refused:
        compare(
            [side("a", processes()), side("b", other(problem__name="gemm", problem__parameters={"m": 5}))]
        )
    assert str(refused.value).endswith("differ in problem (mnist_mlp and gemm)")


def test_cells_of_several_lengths_are_compared_with_those_of_the_same_length() -> None:
    """A campaign may have trainings of several lengths, all in the same rounds."""
    first = [*asked(processes(), steps=56), *asked(processes(0.04), steps=112)]
    second = [*asked(other(0.055), steps=56), *asked(other(0.036), steps=112)]
    found = compare([side("a", first), side("b", second)])
    shown = [(row.first.factors["specification.steps"], verdict_of(row)) for row in found.rows]
    assert shown == [(56, "slower"), (112, "faster")]
    assert found.notes == ()


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        ({"steps": 56}, {"steps": 112}, "steps (56 and 112)"),
        ({"target_seconds": 3.0}, {"target_seconds": 10.0}, "target_seconds (3 and 10)"),
        ({"monitors": None}, {"monitors": ["memory"]}, 'monitors (none and ["memory"])'),
        ({"breakdown": False}, {"breakdown": True}, "breakdown (false and true)"),
        ({"verify": True}, {"verify": False}, "verify (true and false)"),
    ],
)
def test_what_changes_no_step_is_compared_and_told(
    ours: dict[str, Any], theirs: dict[str, Any], told: str
) -> None:
    found = compare([side("a", asked(processes(), **ours)), side("b", asked(other(0.055), **theirs))])
    assert verdict_of(row_of(found)) == "slower"
    assert found.notes == (f"measured differently, which changes no step: {told}",)


def test_what_an_older_record_does_not_tell_was_at_its_default() -> None:
    """A version may add to what can be asked for; nobody's records of last week are other work for that."""
    older = [{**record, "specification": {"framework": "pytorch"}} for record in processes()]
    newer = asked(other(0.055), target_seconds=3.0, fold_batch_norm=False, micro_batch=None)
    found = compare([side("a", older), side("b", newer)])
    assert verdict_of(row_of(found)) == "slower"
    assert found.notes == ()


def test_all_that_can_be_asked_for_is_work_or_an_aspect_or_says_nothing_of_a_step() -> None:
    changing = {name for name, option in RUN_OPTIONS.items() if option.compares == "changed"}
    keys = {*make_record()["comparable"]["keys"], *changing}
    row = row_of(compare([side("a", processes()), side("b", other())]))
    told = {name.removeprefix("specification.") for name in row.first.factors}
    elsewhere = {
        *("framework", "framework_version", "framework_options", "environment", "launcher", "start"),
        *("compile_cache", "affinity", "gpus", "data_dir", "prefetch", "repetition", "scaling", "seed"),
        *("timeout", "anonymous", "price_per_hour"),
        "training",  # a key of those that have a recipe: 'recipe'
    }
    assert {member.name for member in fields(RunSpec)} - keys - told - elsewhere == set()


def test_how_it_was_started_and_how_a_number_was_written_are_no_work() -> None:
    first = asked(processes(), target_seconds=3.0, launcher="local")
    second = asked(other(0.055), target_seconds=3, launcher="slurm", data_dir="/data", environment="system")
    assert verdict_of(row_of(compare([side("a", first), side("b", second)]))) == "slower"


def test_records_that_do_not_tell_what_was_asked_are_compared_by_their_keys() -> None:
    first, second = processes(), other(0.055)
    for record in (*first, *second):
        record["specification"] = None
    row = row_of(compare([side("a", first), side("b", second)]))
    assert verdict_of(row) == "slower"
    assert row.keys == first[0]["comparable"]["keys"]


def test_works_that_one_side_lacks_are_told() -> None:
    second = [*other(0.055), *other(batch_size=8)]
    comparison = compare([side("a", processes()), side("b", second)])
    assert len(comparison.rows) == 1
    assert comparison.notes == ("works of 'b' that the other side has not computed, left out: 1",)


def test_a_record_is_not_compared_with_itself() -> None:
    first = processes()
    with pytest.raises(UsageError, match=rf"'a' and 'b' share 1 \(one is {first[0]['id']}\)"):
        compare([side("a", first), side("b", other(), first[0])])


def test_each_cell_of_the_other_side_is_a_row() -> None:
    second = [*other(0.055), *other(0.045, framework__name="chainer")]
    comparison = compare([side("a", processes()), side("b", second)])
    found = {row.other.factors["framework.name"]: verdict_of(row) for row in comparison.rows}
    assert found == {"mxnet": "slower", "chainer": "faster"}


def test_several_cells_go_with_those_that_are_like_them() -> None:
    """The frameworks of two days, one of them in a newer version."""
    first = [*processes(), *other(0.02)]
    later: dict[str, Any] = {"campaign": "d" * 32, "day": 2}
    second = [*processes(0.055, framework__version="2.14.0", **later), *other(0.04, **later)]
    comparison = compare([side("a", first), side("b", second)])
    found = {row.other.factors["framework.name"]: round(row.ratio, 1) for row in comparison.rows}
    assert found == {"pytorch": 1.1, "mxnet": 2.0}
    assert all(row.why_none == "unpaired, descriptive only" for row in comparison.rows)


def test_builds_of_one_python_are_cells_of_their_own() -> None:
    builds: list[dict[str, Any]] = [{"environment__build": name} for name in ("GCC 12.2.0", "Clang 17.0.6")]
    first = [
        record for number, build in enumerate(builds) for record in processes(0.05 * (1 + number), **build)
    ]
    second = [record for build in builds for record in other(0.1, **build)]
    found = compare([side("a", first), side("b", second)])
    assert {(row.other.factors["environment.build"], round(row.ratio, 1)) for row in found.rows} == {
        ("GCC 12.2.0", 2.0),
        ("Clang 17.0.6", 1.0),
    }
    with pytest.raises(UsageError, match=r"e\.g\. 'environment\.build=GCC 12\.2\.0'"):
        compare([side("a", first), side("b", other())])
    unknown = [*processes(environment__build=None)[:5], *processes()[5:]]
    assert len(compare([side("a", unknown), side("b", other())]).rows) == 1


@pytest.mark.parametrize(
    ("seconds", "python", "told"),
    [
        (4.6e-4, "3.9.18", False),
        (5.0e-4, "3.9.18", False),
        (7.0e-4, "3.9.18", True),
        (7.0e-4, "3.11.7", False),
    ],
)
def test_what_another_python_takes_itself_is_told(seconds: float, python: str, told: bool) -> None:
    theirs = other(environment__python=python, trust__speed__interpreter_seconds=seconds)
    found = compare([side("a", processes()), side("b", theirs)])
    build = "GCC 12.2.0, main, Dec 4 2023 18:10:11"
    sentence = (
        f"known statements of Python took 460 µs in pytorch's (3.11.7, {build}) and "
        f"{seconds * 1e6:.0f} µs in mxnet's ({python}, {build}), which short steps show"
    )
    assert [note for note in found.notes if "of Python" in note] == ([sentence] if told else [])


def test_a_record_that_does_not_tell_its_build_makes_no_other_python() -> None:
    theirs = other(trust__speed__interpreter_seconds=9e-4)
    theirs[0]["environment"]["build"] = None
    assert compare([side("a", processes()), side("b", theirs)]).notes == ()


def test_a_python_that_did_not_tell_its_time_is_not_judged() -> None:
    theirs = other(environment__python="3.9.18", trust__speed__interpreter_seconds=None)
    assert compare([side("a", processes()), side("b", theirs)]).notes == ()


def test_cells_that_cannot_be_told_apart_are_refused_with_what_to_add() -> None:
    first = [*processes(), *processes(framework__options__compile=True)]
    with pytest.raises(UsageError) as refused:
        compare(
            [side("framework=pytorch", first), side("framework=mxnet", other(framework__options={"x": 1}))]
        )
    assert "they differ in framework.options.compile: false, true" in str(refused.value)
    assert "e.g. 'framework.options.compile=false'" in str(refused.value)
    with pytest.raises(UsageError, match=r"e\.g\. 'framework\.name=pytorch'"):
        compare([side("a", [*processes(), *other()]), side("b", other(framework__name="chainer"))])


def test_seeds_are_cells_too() -> None:
    first = [record for seed in (1, 2) for record in processes(seed=seed)]
    second = [record for seed in (1, 2) for record in other(0.05 + 0.005 * seed, seed=seed)]
    comparison = compare([side("a", first), side("b", second)])
    assert {row.first.factors["seed"]: round(row.ratio, 1) for row in comparison.rows} == {1: 1.1, 2: 1.2}


def test_two_records_of_one_round_are_refused_with_what_they_differ_in() -> None:
    first = processes()
    twin = process(0.07, number=3)
    twin["specification"]["data_dir"] = "/elsewhere"
    with pytest.raises(
        UsageError, match=rf"{first[3]['id']} and {twin['id']}, which differ in data_dir; add"
    ):
        compare([side("a", first, twin), side("b", other())])


def test_machines_are_cells_too() -> None:
    first = [*processes(), *processes(platform__cpu__model="Another CPU")]
    second = other(0.055, platform__cpu__model="Another CPU")
    row = row_of(compare([side("a", first), side("b", second)]))
    assert row.first.factors["platform.cpu.model"] == "Another CPU"


# --- several sides, and the gate -------------------------------------------------------------------


def test_every_side_is_compared_with_the_first_and_all_are_corrected_together() -> None:
    chainer = processes(0.055, framework__name="chainer", wobble=STEADY)
    comparison = compare([side("a", processes()), side("b", other(0.055)), side("c", chainer)])
    assert [(row.first.side, row.other.side) for row in comparison.rows] == [("a", "b"), ("a", "c")]
    first, second = (row.verdict for row in comparison.rows)
    assert first is not None
    assert second is not None
    assert first.p_adjusted == pytest.approx(2 * first.p)


def test_rows_with_a_verdict_come_first_and_unpaired_ones_last() -> None:
    unpaired = side("b", other(0.055, campaign="d" * 32, day=2))
    disturbed = [with_grade(record, "contaminated") for record in other(0.055)]
    sides = [
        unpaired,
        side("c", disturbed),
        side("d", processes(0.06, framework__name="chainer", wobble=STEADY)),
    ]
    rows = compare([side("a", processes()), *sides]).rows
    assert [row.other.side for row in rows] == ["d", "c", "b"]


def test_the_gate_stops_what_is_shown_to_be_slower() -> None:
    rows = compare(
        [
            side("a", processes()),
            side("b", other(0.055)),
            side("c", [*other(0.0501, framework__name="chainer")]),
        ]
    ).rows
    passed = gate(rows, 0.05)
    assert [row.other.side for row in passed.slower] == ["b"]
    assert passed.untold == ()
    assert gate(rows, 0.15).slower == ()


def test_the_gate_does_not_know_where_the_interval_reaches_over_the_limit() -> None:
    noise = [0.1 * (-1) ** i for i in range(10)]
    rows = compare(
        [side("a", processes()), side("b", processes(0.054, wobble=noise, framework__name="mxnet"))]
    ).rows
    passed = gate(rows, 0.05)
    assert passed.slower == ()
    assert passed.untold == rows


def test_the_gate_allows_for_the_number_of_rows() -> None:
    """What is just beyond the limit alone is not among many that say nothing."""
    noise = [0.3 * (-1) ** i for i in range(10)]
    wide = [0.02 * (-1) ** i for i in range(10)]
    near = side("b", processes(0.0535, wobble=wide, framework__name="mxnet"))
    others = [
        side(f"c{i}", processes(wobble=noise, framework__name="chainer", framework__version=str(i)))
        for i in range(8)
    ]
    alone = compare([side("a", processes()), near]).rows
    assert gate(alone, 0.05).slower == alone
    many = compare([side("a", processes()), near, *others]).rows
    assert gate(many, 0.05).slower == ()
    assert gate(many, 0.05).untold == many


def test_the_gate_is_never_below_the_margin() -> None:
    rows = compare([side("a", processes()), side("b", other(0.0527))], resolution=lambda record: kept()).rows
    assert rows[0].margin.value == pytest.approx(0.06)
    assert gate(rows, 0.05).slower == ()


def test_the_least_effect_allows_for_the_number_of_rows() -> None:
    chainer = side("c", other(0.055, framework__name="chainer"))
    alone = row_of(compare([side("a", processes()), side("b", other(0.055))])).smallest_effect
    many = compare([side("a", processes()), side("b", other(0.055)), chainer]).rows[0].smallest_effect
    assert alone is not None
    assert many is not None
    assert 1.02 < alone < many < 1.03


def test_the_gate_knows_nothing_of_what_has_no_verdict() -> None:
    rows = compare([side("a", processes()), side("b", other(0.10, campaign="d" * 32))]).rows
    passed = gate(rows, 0.05)
    assert (passed.slower, passed.untold) == ((), rows)


# --- what a machine can resolve --------------------------------------------------------------------


def kept(**changes: Any) -> Resolution:
    record = process()
    values = {
        "machine": machine_name(record),
        "work": record["comparable"]["hash"],
        "framework": "pytorch 2.13.0",
        "problem": "mnist_mlp",
        "pairs": 10,
        "half_width": 0.03,
        "deviation": 0.04,
        "verdict": "equivalent",
        "measured_at": "2026-03-01T12:00:00Z",
    }
    return Resolution(**{**values, **changes})


def test_the_margin_is_never_below_what_the_machine_resolves() -> None:
    sides = [side("a", processes()), side("b", other(0.0525))]
    assert verdict_of(row_of(compare(sides))) == "slower"
    row = row_of(compare(sides, resolution=lambda record: kept()))
    assert row.margin.value == pytest.approx(0.06)
    assert "A/A" in row.margin.reason
    assert verdict_of(row) == "equivalent"
    assert row_of(compare(sides, margin=0.2, resolution=lambda record: kept())).margin.value == 0.2


def test_a_margin_tells_who_chose_it() -> None:
    sides = [side("a", processes()), side("b", other(0.0525))]
    assert row_of(compare(sides, margin=0.02)).margin.reason == "asked"
    assert row_of(compare(sides)).margin.reason == (
        "default; what this machine resolves was not measured: compare --aa"
    )
    narrow = row_of(compare(sides, resolution=lambda record: kept(half_width=0.001)))
    assert (narrow.margin.value, narrow.margin.reason) == (0.02, "default")
    wide = row_of(compare(sides, resolution=lambda record: kept()))
    assert wide.margin.reason.startswith("resolution of this machine, twice the half-width")


def test_the_margin_is_never_below_what_the_clock_resolves() -> None:
    second = other(0.0525, timing__overhead__synchronisation_seconds=0.005)
    row = row_of(compare([side("a", processes()), side("b", second)]))
    assert row.margin.value == pytest.approx(2 * 0.005 / 0.0525, rel=0.02)
    assert "clock" in row.margin.reason


def test_a_block_of_steps_looks_at_the_clock_once() -> None:
    changes: dict[str, Any] = {"timing__overhead__synchronisation_seconds": 0.005}
    sides = []
    for name, framework in (("a", "pytorch"), ("b", "mxnet")):
        records = processes(framework__name=framework, **changes)
        for record in records:
            record["timing"].update(block_steps=10, sampling="throughput")
        sides.append(side(name, records))
    assert row_of(compare(sides)).margin.value == pytest.approx(0.02, rel=0.05)


def test_of_what_is_kept_the_same_work_counts_and_else_the_best(tmp_path: Path) -> None:
    record = process()
    assert resolution_for(record, tmp_path) is None
    keep(kept(work="other", half_width=0.05), tmp_path)
    keep(kept(work="another", half_width=0.01), tmp_path)
    keep(kept(work="elsewhere", half_width=0.001, machine="another"), tmp_path)
    found = resolution_for(record, tmp_path)
    assert found is not None
    assert found.half_width == 0.01
    keep(kept(half_width=0.02), tmp_path)
    keep(kept(half_width=0.04, framework="mxnet 1.9.1"), tmp_path)
    found = resolution_for(record, tmp_path)
    assert found is not None
    assert found.half_width == 0.04


def test_a_newer_comparison_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    paths = {keep(kept(half_width=width), tmp_path) for width in (0.04, 0.01)}
    assert len(paths) == 1
    assert [path.name for path in tmp_path.iterdir()] == [path.name for path in paths]
    found = resolution_for(process(), tmp_path)
    assert found is not None
    assert found.half_width == 0.01


def test_a_damaged_file_is_as_good_as_none(tmp_path: Path) -> None:
    keep(kept(), tmp_path).write_text('{"machine": 5')
    (tmp_path / "list.json").write_text("[1]")
    assert resolution_for(process(), tmp_path) is None


def test_neighbours_are_pairs_of_a_thing_with_itself() -> None:
    slow = [0.0, 0.3, 0.0, 0.3, 0.0, 0.3, 0.0, 0.3]
    pairing = pairs_with_itself(processes(wobble=slow))
    places = [(p.first["replication"]["round"], p.other["replication"]["round"]) for p in pairing.pairs]
    assert sorted(map(sorted, places)) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    # Each order comes as often as its mirror image, so what comes second is not always the slower side.
    assert sum(first < second for first, second in places) == 2
    found = resolution_of(pairing, 0.02)
    assert found is not None
    assert found.pairs == 4
    assert found.half_width > 0.3
    assert found.machine == "Example CPU 3000, 8 GiB"


def test_too_few_pairs_of_a_thing_with_itself_say_nothing() -> None:
    assert resolution_of(pairs_with_itself(processes(wobble=WOBBLE[:5])), 0.02) is None
    disturbed = [with_grade(record, "contaminated") for record in processes()]
    assert resolution_of(pairs_with_itself(disturbed), 0.02) is None
    assert resolution_of(pairs_with_itself(disturbed, include_contaminated=True), 0.02) is not None
