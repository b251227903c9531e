"""Pictures of runs of several ranks, against numbers by hand: what is in one panel, and what never is."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarker.analysis.charts import chart
from benchmarker.api.chart import Chart, Panel, Series
from benchmarker.errors import UsageError
from tests.support.rank_records import several, single, trained_by
from tests.support.trainings import trained

EMULATED = "Emulated: links of 100mbit or 1gbit between ranks on one machine, not a real network."


def panels(shown: Chart) -> dict[str, Panel]:
    return {panel.title: panel for panel in shown.panels}


def lines(panel: Panel) -> dict[str, Series]:
    return {series.name: series for series in panel.series}


def of(framework: str) -> dict[str, Any]:
    return {"framework__name": framework, "framework__full": f"{framework}-1.0"}


# --- speed-up and efficiency ---------------------------------------------------------------------


def test_speedup_and_efficiency_stand_beside_the_ideal() -> None:
    records = [single(0.04), several(0.025), several(0.02, ranks=4)]
    shown = panels(chart("ranks", records))
    assert list(shown) == ["Speed-up", "Efficiency"]
    speedup, efficiency = lines(shown["Speed-up"]), lines(shown["Efficiency"])
    assert speedup["pytorch"].x == (1.0, 2.0, 4.0)
    assert speedup["pytorch"].y == pytest.approx((1.0, 1.6, 2.0))
    assert efficiency["pytorch"].y == pytest.approx((100.0, 80.0, 50.0))
    assert (speedup["ideal"].y, efficiency["ideal"].y) == ((1, 2, 4), (100.0, 100.0, 100.0))
    assert speedup["ideal"].dashed


def test_intervals_are_those_of_the_ratio_and_one_rank_has_none() -> None:
    spread = [0.9, 0.95, 0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03, 1.05, 1.07, 1.1] * 2
    base, more = single([0.04 * one for one in spread]), several([0.02 * one for one in spread])
    (speedup, _) = chart("ranks", [base, more]).panels
    found = lines(speedup)["pytorch"]
    low, high = more["timing"]["step_seconds"]["ci95"]
    low_of_base, high_of_base = base["timing"]["step_seconds"]["ci95"]
    assert found.low == pytest.approx((None, low_of_base / high))
    assert found.high == pytest.approx((None, high_of_base / low))


def test_of_one_scheme_lines_are_frameworks_of_several_they_are_schemes_in_a_panel_for_each_framework() -> (
    None
):
    both = [record for name in ("numpy", "jax") for record in (single(**of(name)), several(**of(name)))]
    (speedup, _) = chart("ranks", both).panels
    assert set(lines(speedup)) == {"numpy", "jax", "ideal"}
    schemes = [*both, *(several(scheme="sharded", **of(name)) for name in ("numpy", "jax"))]
    shown = panels(chart("ranks", schemes))
    assert set(shown) == {f"{what}: {who}" for what in ("Speed-up", "Efficiency") for who in ("numpy", "jax")}
    assert all(set(lines(panel)) == {"all-reduce", "sharded", "ideal"} for panel in shown.values())


def test_of_many_frameworks_the_efficiency_alone_is_shown() -> None:
    frameworks = ("numpy", "jax", "chainer", "mxnet")
    records = [
        record
        for name in frameworks
        for record in (single(**of(name)), several(**of(name)), several(scheme="sharded", **of(name)))
    ]
    shown = chart("ranks", records)
    assert set(panels(shown)) == {f"Efficiency: {name}" for name in frameworks}
    assert "The speed-up is the efficiency times the ranks." in shown.caption


@pytest.mark.parametrize(
    ("changes", "titles"),
    [
        ({"network": "100mbit"}, {"loopback", "emulated 100mbit"}),
        ({"network": "shared"}, {"loopback", "machine's memory"}),
        (
            {"scaling": "weak", "batch_size": 32},
            {"strong scaling, 16 rows", "weak scaling, 16 rows per rank"},
        ),
    ],
    ids=["emulated", "memory", "weak"],
)
def test_what_is_not_to_be_compared_has_panels_of_its_own(changes: dict[str, Any], titles: set[str]) -> None:
    shown = panels(chart("ranks", [single(0.04), several(0.025), several(0.03, **changes)]))
    assert {title.partition(": ")[2] for title in shown} == titles
    assert all(lines(panel)["pytorch"].x == (1, 2) for panel in shown.values())


def test_machines_have_panels_of_their_own_and_each_is_held_to_itself() -> None:
    other: dict[str, Any] = {"platform__cpu__model": "Other CPU"}
    records = [single(0.04), several(0.02), single(0.01, **other), several(0.01, **other)]
    shown = panels(chart("ranks", records))
    values = {title: lines(panel)["pytorch"].y for title, panel in shown.items() if "Speed-up" in title}
    (slow,) = (y for title, y in values.items() if "Other CPU" in title)
    (quick,) = (y for title, y in values.items() if "Other CPU" not in title)
    assert slow == pytest.approx((1.0, 1.0))
    assert quick == pytest.approx((1.0, 2.0))


def test_native_exchange_and_that_over_mpi_are_lines_of_their_own() -> None:
    (speedup, _) = chart("ranks", [single(), several(0.02), several(0.01, exchange="native")]).panels
    found = lines(speedup)
    assert found["all-reduce, mpi"].y[-1] == pytest.approx(2.0)
    assert found["all-reduce, native"].y[-1] == pytest.approx(4.0)


def test_low_efficiencies_have_a_logarithmic_axis() -> None:
    (_, high) = chart("ranks", [single(0.04), several(0.025)]).panels
    (_, low) = chart("ranks", [single(0.04), several(0.4)]).panels
    (_, asked) = chart("ranks", [single(0.04), several(0.4)], log="no").panels
    assert (high.y.scale, low.y.scale, asked.y.scale) == ("linear", "log", "linear")


def test_runs_without_one_rank_are_left_out_and_alone_make_no_picture() -> None:
    with pytest.raises(UsageError, match=r"each with one of a single rank .* none of 1 record has that"):
        chart("ranks", [several()])
    shown = chart("ranks", [single(), several(), several(seed=7), single(seed=8)])
    assert shown.caption.endswith(
        "Left out: 1 run of a single rank alone; 1 run of several ranks alone, other problems or panels."
    )


def test_the_caption_tells_of_averaging() -> None:
    steps = [0.01, 0.01, 0.01, 0.05] * 12
    shown = chart("ranks", [single(0.04), several(steps, scheme="averaging/4")])
    assert lines(shown.panels[0])["pytorch"].y == pytest.approx((1.0, 2.0))
    assert "A step of averaging is the mean from one exchange of weights to the next." in shown.caption
    assert "leave out" in chart("rank_parts", [several(steps, scheme="averaging/4")]).caption


# --- emulated networks ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ranks", "rank_parts", "communication"])
def test_emulated_networks_are_marked_in_panels_and_caption(kind: str) -> None:
    shown = chart(kind, [single(), several(), *(several(network=rate) for rate in ("100mbit", "1gbit"))])
    titles = [panel.title for panel in shown.panels]
    for rate in ("emulated 100mbit", "emulated 1gbit", "loopback"):
        assert any(rate in title for title in titles)
    assert EMULATED in shown.caption
    alone = chart(kind, [single(), several(network="100mbit")])
    assert any("emulated 100mbit" in panel.title for panel in alone.panels)
    assert "not a real network" in alone.caption
    assert "mulated" not in repr(chart(kind, [single(), several(), several(network="shared")]))


@pytest.mark.parametrize("kind", ["ranks", "rank_parts", "communication"])
def test_collectives_by_themselves_are_no_trainings(kind: str) -> None:
    alone = several(problem__name="all_reduce")
    alone["distributed"].update(collective={"bytes": 8}, scheme=None)
    assert chart(kind, [single(), several(), alone]).panels == chart(kind, [single(), several()]).panels
    with pytest.raises(UsageError, match="needs runs of several ranks"):
        chart(kind, [single(problem__name="all_reduce"), alone])


def test_other_pictures_call_an_emulated_network_so_too() -> None:
    (panel,) = chart("frameworks", [several(), several(network="100mbit"), several(network="shared")]).panels
    assert set(lines(panel)) == {"pytorch", "pytorch, emulated 100mbit", "pytorch, shared"}


# --- parts of a step -----------------------------------------------------------------------------


def test_parts_stand_upon_each_other_by_ranks() -> None:
    shown = chart("rank_parts", [several(), several(ranks=4, parts=(0.004, 0.02, 0.006))])
    (panel,) = shown.panels
    assert panel.x.categories == ("2 ranks", "4 ranks")
    found = {name: series.y for name, series in lines(panel).items()}
    assert found == {
        "computing": pytest.approx((10.0, 4.0)),
        "exchange and update": pytest.approx((12.0, 20.0)),
        "waiting for the slowest": pytest.approx((3.0, 6.0)),
    }
    assert panel.y.unit == "ms"


def test_schemes_are_places_and_numbers_of_ranks_panels() -> None:
    records = [
        several(ranks=ranks, scheme=scheme) for ranks in (4, 2) for scheme in ("all-reduce", "sharded")
    ]
    shown = panels(chart("rank_parts", records))
    assert list(shown) == ["2 ranks", "4 ranks"]
    assert all(set(panel.x.categories) == {"all-reduce", "sharded"} for panel in shown.values())


def test_parts_of_several_processes_are_medians_and_a_native_exchange_is_in_the_rest() -> None:
    parts = [(0.01, None, None), (0.03, None, None), (0.02, None, None)]
    records = [several(exchange="native", parts=one, repetition=number) for number, one in enumerate(parts)]
    shown = chart("rank_parts", records)
    found = lines(shown.panels[0])
    assert {name: one.y for name, one in found.items()} == {
        "computing": pytest.approx((20.0,)),
        "rest of the step, not broken down": pytest.approx((5.0,)),
    }
    assert "A native exchange overlaps with computing" in shown.caption


def test_computing_alone_is_no_picture_of_an_exchange_over_mpi() -> None:
    with pytest.raises(UsageError, match="with the parts of their steps"):
        chart("rank_parts", [several(parts=(0.01, None, None))])


# --- bytes ---------------------------------------------------------------------------------------


def test_bytes_by_formula_stand_beside_those_that_were_counted() -> None:
    shown = panels(chart("communication", [several(), several(scheme="sharded", wire_bytes=2_100_000.0)]))
    found = lines(shown["2 ranks"])
    mebi = 1 << 20
    assert found["by the scheme's formula"].y == pytest.approx((2e6 / mebi, 2e6 / mebi))
    counted = dict(zip(found["counted on the wire"].x, found["counted on the wire"].y))
    assert counted == {
        "all-reduce": pytest.approx(2.01e6 / mebi),
        "sharded": pytest.approx(2.1e6 / mebi),
    }
    off = lines(shown["Count against formula"])["2 ranks"]
    assert dict(zip(off.x, off.y)) == {"all-reduce": pytest.approx(0.5), "sharded": pytest.approx(5.0)}


def test_what_nobody_counted_is_a_gap_and_the_caption_says_why() -> None:
    shown = chart("communication", [several(network="shared")])
    (panel,) = shown.panels
    assert lines(panel)["counted on the wire"].y == (None,)
    assert "Not counted where ranks share the machine's memory" in shown.caption


def test_frameworks_of_one_scheme_are_one_place_but_natively_each_has_its_own() -> None:
    records = [
        several(wire_bytes=2_000_000.0, **of("numpy")),
        several(wire_bytes=2_200_000.0, **of("jax")),
        several(wire_bytes=4_000_000.0, exchange="native", **of("jax")),
    ]
    found = lines(panels(chart("communication", records))["2 ranks"])["counted on the wire"]
    values = dict(zip(found.x, found.y))
    assert set(values) == {"all-reduce", "all-reduce, native of jax"}
    assert values["all-reduce"] == pytest.approx(2_100_000 / (1 << 20))
    assert not found.low


# --- trainings to accuracy -----------------------------------------------------------------------


def seeds(ranks: int, ends: list[int], **changes: Any) -> list[dict[str, Any]]:
    """Trainings whose last evaluation comes after so many tens of steps; one of a negative number misses the target."""
    found = []
    for seed, end in enumerate(ends):
        correct = [*([10] * abs(end)), 95 if end > 0 else 80]
        if ranks == 1:
            found.append(trained(correct, seed=seed, **changes))
        else:
            found.append(trained_by(ranks, correct, seed=seed, **changes))
    return found


def test_trainings_are_medians_over_seeds_and_one_rank_begins_each_line() -> None:
    records = [
        *seeds(1, [2, 4, 3]),
        *seeds(2, [3, 3, 3]),
        *seeds(4, [5, 6, 9], scheme="averaging/8", slowness=0.5),
    ]
    steps, seconds = chart("ranks_to_target", records).panels
    averaging, equal = (lines(steps)[f"numpy 1.0, {name} (mpi)"] for name in ("averaging/8", "all-reduce"))
    assert (averaging.x, equal.x) == ((1.0, 4.0), (1.0, 2.0))
    assert averaging.y == pytest.approx((30.0, 60.0))
    assert equal.y == pytest.approx((30.0, 30.0))
    # A first step of a second and 29 of 0.1 s; of half of that 59.
    assert lines(seconds)[averaging.name].y == pytest.approx((3.9, 0.5 + 59 * 0.05))
    assert averaging.low == (None, None)


def test_six_seeds_have_an_interval_and_a_half_that_missed_has_no_point() -> None:
    records = [*seeds(2, [1, 2, 3, 4, 5, 6]), *seeds(4, [1, -9, -9, 2, 3, -9])]
    shown = chart("ranks_to_target", records)
    (line,) = shown.panels[0].series
    assert line.x == (2.0,)
    assert line.y == pytest.approx((35.0,))
    assert (line.low, line.high) == ((10.0,), (60.0,))
    assert "No point where half of the runs or more missed the target." in shown.caption


def test_one_rank_of_a_machine_without_others_is_in_no_line() -> None:
    elsewhere = seeds(1, [9, 9, 9])
    for record in elsewhere:
        record["platform"] = {**record["platform"], "host": {"name": "elsewhere"}}
    (line,) = chart("ranks_to_target", [*seeds(1, [2]), *seeds(2, [3]), *elsewhere]).panels[0].series
    assert line.name == "numpy 1.0, all-reduce (mpi)"
    assert line.y == pytest.approx((20.0, 30.0))


def test_emulated_networks_are_lines_of_their_own() -> None:
    shown = chart("ranks_to_target", [*seeds(2, [2]), *seeds(2, [2], network="100mbit")])
    assert set(lines(shown.panels[0])) == {
        "numpy 1.0, all-reduce (mpi)",
        "numpy 1.0, all-reduce (mpi), emulated 100mbit",
    }
    assert "not a real network" in shown.caption


def test_trainings_of_one_rank_or_without_an_end_make_no_such_picture() -> None:
    with pytest.raises(UsageError, match=r"by several ranks .* none of 1 record has that"):
        chart("ranks_to_target", seeds(1, [2]))
    with pytest.raises(UsageError, match="at their target"):
        chart("ranks_to_target", seeds(2, [-2]))


def test_disturbed_seconds_to_the_target_are_not_drawn_and_their_steps_are() -> None:
    clean = [trained_by(2, [10, 95], seed=seed) for seed in range(3)]
    disturbed = [trained_by(2, [10, 20, 95], seed=seed, slowness=90.0) for seed in range(3, 8)]
    for record in disturbed:
        record["trust"]["grade"] = "contaminated"
    drawn = chart("ranks_to_target", [*clean, *disturbed])
    (steps,), (seconds,) = (panel.series for panel in drawn.panels)
    assert steps.y == (20.0,)
    assert seconds.y == pytest.approx((1.9,))
    assert "as disturbed or otherwise not to be ranked: 5 of 8 of" in drawn.caption
