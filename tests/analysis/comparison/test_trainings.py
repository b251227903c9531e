"""Comparisons of trainings by a recipe: ratios, their two factors, verdicts, and what cannot be compared."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarker import registry
from benchmarker.analysis.comparison.matching import Side
from benchmarker.analysis.comparison.training_groups import TrainingGroup
from benchmarker.analysis.comparison.trainings import (
    Comparison,
    are_trainings,
    compare_trainings,
    convergence,
    reference_of,
)
from benchmarker.analysis.text.trainings import comparison_text
from benchmarker.cli.main import main
from benchmarker.errors import UsageError
from benchmarker.training.reference_runs import ReferenceRun, ReferenceRuns
from tests.conftest import ROOT
from tests.support.records import make_record

ASKED = {
    "name": "small",
    "division": "closed",
    "target": {"metric": "accuracy", "value": 0.95, "split": "test"},
}


def trained(seed: int, steps: int | None, seconds: float, recipe: str = "a") -> dict[str, Any]:
    """Return what a comparison reads of a record of a training, ``steps`` None for one that missed its target."""
    record = copy.deepcopy(make_record(seed=seed))
    record["specification"]["training"] = ASKED
    record["comparable"]["keys"]["recipe"] = recipe
    times = {"first_step_seconds": 0.0, "training_seconds": seconds, "loading_seconds": 0.0}
    record["training"] = {"steps": 1000, "most_steps": 1000, "diverged": None, **times}
    record["training"]["recipe"] = {"name": "small", "digest": recipe, "division": "closed"}
    record["metrics"]["steps_to_target"] = steps
    record["metrics"]["seconds_to_target"] = None if steps is None else seconds
    return record


def side(name: str, steps: Sequence[int | None], step_seconds: float) -> Side:
    records = [trained(seed, n, (1000 if n is None else n) * step_seconds) for seed, n in enumerate(steps)]
    return Side(name, records)


STEPS = (100, 120, 90, 110, 105, 95)


def compared(*sides: Side) -> Comparison:
    assert are_trainings(sides)
    return compare_trainings(sides)


def test_a_difference_is_split_into_steps_and_seconds_each() -> None:
    (row,) = compared(side("a", STEPS, 0.01), side("b", STEPS, 0.03)).rows
    assert row.equal_steps
    assert (row.steps_ratio, row.steps_p) == (1.0, 1.0)
    assert row.seconds_ratio == pytest.approx(3.0)
    assert row.step_seconds_ratio == pytest.approx(3.0)
    assert (row.verdict, row.steps_verdict) == ("slower", "equal")
    assert row.seconds_p == pytest.approx(2 / 2**6)


def test_more_steps_are_told_from_slower_ones() -> None:
    (row,) = compared(side("a", STEPS, 0.01), side("b", [2 * n for n in STEPS], 0.01)).rows
    assert not row.equal_steps
    assert row.steps_ratio == pytest.approx(2.0)
    assert row.step_seconds_ratio == pytest.approx(1.0)
    assert (row.verdict, row.steps_verdict) == ("slower", "more")
    (turned,) = compared(side("b", [2 * n for n in STEPS], 0.01), side("a", STEPS, 0.01)).rows
    assert (turned.verdict, turned.steps_verdict) == ("faster", "fewer")


def test_a_side_that_misses_its_target_is_slower_without_a_ratio() -> None:
    missing = side("b", [None] * 6, 0.01)
    (row,) = compared(side("a", STEPS, 0.01), missing).rows
    assert (row.verdict, row.seconds_ratio) == ("slower", None)
    (turned,) = compared(missing, side("a", STEPS, 0.01)).rows
    assert turned.verdict == "faster"


def test_no_difference_and_too_few_trainings() -> None:
    (same,) = compared(side("a", STEPS, 0.01), side("b", STEPS[::-1], 0.0101)).rows
    assert (same.verdict, same.steps_verdict) == ("no difference shown",) * 2
    (few,) = compared(side("a", STEPS[:3], 0.01), side("b", STEPS[:3], 1.0)).rows
    assert (few.verdict, few.seconds_p, few.steps_verdict) == ("inconclusive", None, "equal")
    (fewer,) = compared(side("a", STEPS[:3], 0.01), side("b", STEPS[2:], 1.0)).rows
    assert fewer.steps_verdict == "inconclusive"


def test_what_differs_a_little_at_every_seed_is_shown_within_seeds() -> None:
    first, later = side("a", STEPS, 0.01), side("b", [n + 1 for n in STEPS], 0.01)
    (row,) = compared(first, later).rows
    assert (row.steps_verdict, row.steps_test) == ("more", "log-rank by permutation within seeds")
    other_seeds = Side("b", [{**record, "seed": record["seed"] + 1} for record in later.records])
    (apart,) = compared(first, other_seeds).rows
    assert (apart.steps_verdict, apart.steps_test) == ("no difference shown", "log-rank by permutation")


def test_labels_change_within_seeds_where_that_can_show_something() -> None:
    def chosen_test(seeds: int, sides: int) -> str | None:
        steps = [100 + 7 * seed for seed in range(seeds)]
        rows = compared(*(side(name, steps, 0.01) for name in "abcd"[:sides])).rows
        return rows[0].steps_test

    # Of 5 pairs each arrangement is 1 of 32, of 6 pairs 1 of 64, which Holm's correction for 3 sides may triple.
    tests = [chosen_test(5, 2), chosen_test(6, 2), chosen_test(6, 4), chosen_test(7, 4)]
    assert [test and test.endswith("within seeds") for test in tests] == [False, True, False, True]
    twice = side("b", STEPS, 0.01)
    second: Any = twice.records[1]
    second["seed"] = 0
    (row,) = compared(side("a", STEPS, 0.01), twice).rows
    assert row.steps_test == "log-rank by permutation"


def test_several_sides_are_corrected_together() -> None:
    steps = (*STEPS, 115, 98)
    first, other = side("a", steps, 0.01), [side(name, steps, 0.0125) for name in "bcd"]
    (alone,) = compared(first, other[0]).rows
    together = compared(first, *other).rows
    assert alone.seconds_p is not None
    assert [row.seconds_p for row in together] == pytest.approx([min(1.0, 3 * alone.seconds_p)] * 3)


def test_the_text_tells_all_of_it() -> None:
    text = " ".join(
        comparison_text(compared(side("a", STEPS, 0.01), side("b", STEPS, 0.03)), width=200).split()
    )
    assert "small (closed): accuracy of at least 0.95 on the test split" in text
    assert "b against a: 3 times the seconds, 1 times the steps of 3 times the seconds each" in text
    assert "Equal in steps, at each of 6 seeds: a, b." in text
    assert "a 6 of 6 [0.54, 1.00] 102.5 [90, 120] 1.025 [0.900, 1.20]" in text
    assert "1.025 [0.900, 1.20]" in text
    assert "- baseline b 6 of 6" in text
    assert "equal slower Reached:" in text
    missing = comparison_text(compared(side("a", STEPS, 0.01), side("b", [None] * 6, 0.01)), width=200)
    assert "[missed, missed]" in missing
    assert "no ratio, since half of the trainings and more missed the target" in missing


def test_json_has_null_for_what_was_not_reached() -> None:
    told = compared(side("a", STEPS, 0.01), side("b", [None, *STEPS[1:]], 0.01)).to_json()
    first, other = told["sides"]
    assert first["steps"]["median"] == 102.5
    assert first["steps"]["ci95"] == [90.0, 120.0]
    assert first["seconds"]["median"] == pytest.approx(1.025)
    assert first["reached"] == 6
    assert first["reached_share_ci95"] == pytest.approx([0.5407, 1.0], abs=1e-4)
    assert other["steps_to_target"][0] is None
    assert other["reached"] == 5
    assert other["steps"]["ci95"][1] is None
    assert other["steps"]["olympic_mean"] is not None  # the slowest one is left out of it
    assert first["against_reference_runs"] is None  # its recipe has none
    assert told["rows"][0]["equal_steps"] is False
    assert told["rows"][0]["steps_verdict"] == "no difference shown"


def test_what_cannot_be_compared_is_one_sentence() -> None:
    other = Side("b", [trained(seed, 100, 1.0, recipe="b") for seed in range(4)])
    with pytest.raises(
        UsageError, match="only trainings by a recipe that does the same work can be compared: recipe is"
    ):
        compare_trainings([side("a", STEPS, 0.01), other])
    for record in other.records:
        record["specification"]["training"] = {**ASKED, "name": "large"}
    with pytest.raises(
        UsageError,
        match=r"the same recipe can be compared, got small, large: .* specification\.training\.name=small$",
    ):
        compare_trainings([side("a", STEPS, 0.01), other])
    with pytest.raises(UsageError, match="two sides at least"):
        compare_trainings([side("a", STEPS, 0.01)])
    failed = {**trained(0, 1, 1.0), "training": None}
    with pytest.raises(UsageError, match="'b' has no training that ended well"):
        compare_trainings([side("a", STEPS, 0.01), Side("b", [failed])])
    assert not are_trainings([Side("a", [make_record()])])
    assert not are_trainings([Side("a", [])])


REFERENCE = ReferenceRuns(
    "a", "numpy-2.4.6", tuple(ReferenceRun(n, 90 + 2 * n if n else None, 0.96, 0.96) for n in range(20))
)


@pytest.mark.parametrize(
    ("steps", "finding"),
    [((95, 105, 110, 120, 125), None), ((40, 45, 50, 55, 60), "fewer"), ((300, None, 400, 500, 600), "more")],
)
def test_too_few_steps_are_as_suspicious_as_too_many(
    steps: Sequence[int | None], finding: str | None
) -> None:
    group = TrainingGroup("x", tuple(side("x", steps, 0.01).records))
    assert convergence(group, REFERENCE).finding == finding


def test_only_the_very_recipe_has_its_reference_runs() -> None:
    record = trained(0, 100, 1.0)
    assert reference_of(record) is None
    record["training"]["recipe"]["name"] = "digits_mlp"
    assert reference_of(record) is None
    path = registry.recipe("digits_mlp").reference_runs
    assert path is not None
    record["training"]["recipe"]["digest"] = ReferenceRuns.read(path).recipe
    assert reference_of(record) == ReferenceRuns.read(path)


def disturbed(found: Side, *places: int) -> Side:
    """Have the machine disturb some trainings of a side, whose seconds are a hundred times as many then."""
    for place in places:
        record = found.records[place]
        record["trust"]["grade"] = "contaminated"
        for group, name in (("training", "training_seconds"), ("metrics", "seconds_to_target")):
            record[group][name] *= 100
    return found


def test_seconds_of_disturbed_trainings_do_not_count_and_their_steps_do() -> None:
    sides = [side("a", STEPS, 0.01), disturbed(side("b", [*STEPS, 5, 5], 0.01), 0, 6, 7)]
    calm = compared(*sides)
    (row,) = calm.rows
    assert row.seconds_ratio == pytest.approx(1.0, abs=0.05)
    assert row.verdict == "no difference shown"
    assert row.steps_ratio == pytest.approx(97.5 / 102.5)
    first, other = calm.to_json()["sides"]
    assert (first["seconds_left_out"], other["seconds_left_out"]) == (0, 3)
    assert (len(other["steps_to_target"]), len(other["seconds_to_target"])) == (8, 8)
    text = " ".join(comparison_text(calm, width=200).split())
    assert (
        "Left out of seconds, not of steps, as disturbed or otherwise not to be ranked: 3 of 8 of b." in text
    )
    assert "--include-contaminated counts" in text
    assert "100 in 100 (disturbed), 120 in 1.20, " in text
    every = compare_trainings(sides, include_contaminated=True)
    assert every.rows[0].seconds_ratio == pytest.approx(1.15 / 1.025)
    assert every.to_json()["sides"][1]["seconds_left_out"] == 0
    assert "isturbed" not in comparison_text(every, width=200)


def test_a_side_of_disturbed_trainings_alone_has_seconds_and_no_verdict_on_them() -> None:
    sides = [side("a", STEPS, 0.01), disturbed(side("b", [2 * n for n in STEPS], 0.01), *range(6))]
    found = compared(*sides)
    (row,) = found.rows
    assert (row.verdict, row.seconds_p, row.steps_verdict) == ("inconclusive", None, "more")
    assert row.seconds_ratio == pytest.approx(200.0)
    assert found.to_json()["sides"][1]["seconds_disturbed"] is True
    text = " ".join(comparison_text(found, width=200).split())
    assert (
        "no verdict on seconds, since all of b are disturbed (log-rank by permutation within seeds: " in text
    )
    assert "All seconds are of trainings that are disturbed or otherwise not to be ranked" in text
    (counted,) = compare_trainings(sides, include_contaminated=True).rows
    assert counted.verdict == "slower"


def test_where_few_are_undisturbed_that_is_why_there_is_no_verdict() -> None:
    found = compared(side("a", STEPS, 0.01), disturbed(side("b", STEPS, 0.03), 0, 1, 2))
    assert (found.rows[0].verdict, found.rows[0].steps_verdict) == ("inconclusive", "equal")
    text = " ".join(comparison_text(found, width=200).split())
    assert "too few undisturbed trainings for a verdict, 4 a side are needed" in text


def test_the_command_counts_disturbed_seconds_where_that_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over kept trainings on four ranks, of which two are said to have been disturbed."""
    kept = ROOT / "results" / "distributed" / "training"
    for path in kept.glob("*.json"):
        record = json.loads(path.read_text())
        distributed = record["distributed"] or {}
        if (distributed.get("scheme"), distributed.get("ranks")) != ("all-reduce", 4):
            continue
        grade = "contaminated" if record["seed"] in (0, 4) else "clean"
        reason = {"kind": "foreign_load", "severity": grade, "text": "busy", "value": 0.9, "limit": 0.1}
        record["trust"].update(grade=grade, reasons=[reason] if grade == "contaminated" else [])
        (tmp_path / path.name).write_text(json.dumps(record))
    words = ["compare", "seed=0..2", "seed=3..5", "--json", f"--results={tmp_path}"]
    assert main(words) == 0
    assert [one["seconds_left_out"] for one in json.loads(capsys.readouterr().out)["sides"]] == [1, 1]
    assert main([*words, "--include-contaminated"]) == 0
    assert [one["seconds_left_out"] for one in json.loads(capsys.readouterr().out)["sides"]] == [0, 0]


def test_steps_that_made_no_update_are_told() -> None:
    ours, theirs = side("a", STEPS, 0.01), side("b", STEPS, 0.01)
    for record, skipped in zip(theirs.records, (3, 0, None)):
        record["training"]["skipped_steps"] = skipped
    found = compared(ours, theirs)
    assert found.to_json()["sides"][1]["skipped_steps"] == [3, 0, None, None, None, None]
    text = " ".join(comparison_text(found).split())
    assert "b: 3 of 6,000 steps made no update, as gradients overflowed in fp16; they count as steps." in text
    assert "a: 0 of" not in text
