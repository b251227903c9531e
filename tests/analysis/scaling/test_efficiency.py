"""Speed-up and efficiency of measured runs, against numbers by hand, and which runs are never held to each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from benchmarker.analysis.scaling.efficiency import Ratio, Scaled, scaled
from benchmarker.records.cells import cells
from benchmarker.records.schema import shape_faults
from tests.support.rank_records import several, single

SPREAD = [0.9, 0.95, 0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03, 1.05, 1.07, 1.1] * 2
"""Samples over their median; intervals of that are narrow and known to lie between the ends."""


def measured(records: Sequence[dict[str, Any]]) -> list[Scaled]:
    """Return the runs of several ranks among some, with their baselines."""
    return [one for one in scaled(cells(records)) if one.distributed]


def only(*records: dict[str, Any]) -> Scaled:
    (found,) = measured(records)
    return found


def parts(ratio: Ratio | None) -> tuple[float, float | None, float | None]:
    assert ratio is not None
    return ratio.value, ratio.low, ratio.high


def value(ratio: Ratio | None) -> float:
    assert ratio is not None
    return ratio.value


@pytest.mark.parametrize("record", [several(), several(network="shared"), several(network="1gbit", ranks=4)])
def test_the_records_of_these_tests_are_records(record: dict[str, Any]) -> None:
    assert list(shape_faults(record)) == []


def test_strong_scaling_is_held_to_one_rank_with_the_same_mini_batch() -> None:
    found = only(single(0.04), single(0.02, batch_size=8), several(0.025))
    assert value(found.speedup) == pytest.approx(0.04 / 0.025)
    assert value(found.efficiency) == pytest.approx(0.8)


def test_weak_scaling_is_held_to_one_rank_with_the_mini_batch_of_a_rank() -> None:
    """Twice the samples in 0.05 s against half of them in 0.03 s."""
    found = only(
        single(0.04, batch_size=32), single(0.03), several(0.05, scaling="weak", batch_size=32, ranks=2)
    )
    assert value(found.speedup) == pytest.approx(2 * 0.03 / 0.05)
    assert value(found.efficiency) == pytest.approx(0.6)


def test_the_interval_is_the_widest_that_both_allow() -> None:
    base, more = (
        single([0.04 * share for share in SPREAD]),
        several([0.02 * share for share in SPREAD], ranks=4),
    )
    found = only(base, more)
    (low, high), (low_of_base, high_of_base) = (
        record["timing"]["step_seconds"]["ci95"] for record in (more, base)
    )
    assert parts(found.speedup) == pytest.approx((2.0, low_of_base / high, high_of_base / low))
    assert parts(found.efficiency) == pytest.approx((0.5, low_of_base / high / 4, high_of_base / low / 4))
    assert low_of_base / high < 2.0 < high_of_base / low


def test_without_an_interval_on_one_side_there_is_none() -> None:
    speedup = only(single(0.04), several([0.02] * 3)).speedup
    assert parts(speedup) == pytest.approx((2.0, None, None))


def test_processes_are_joined_before_they_are_held_to_each_other() -> None:
    """Geometric mean of 0.01 and 0.04 is 0.02; of two processes there is no interval."""
    found = only(single(0.04), several(0.01), several(0.04, repetition=1))
    assert parts(found.speedup) == pytest.approx((2.0, None, None))


def test_without_one_rank_there_is_no_speedup() -> None:
    found = only(several(0.025))
    assert (found.baseline, found.speedup, found.efficiency) == (None, None, None)


def test_one_rank_is_its_own_measure_and_has_no_interval() -> None:
    (found,) = scaled(cells([single(0.04)]))
    assert (found.ranks, found.speedup) == (1, Ratio(1.0))


@pytest.mark.parametrize(
    "changes",
    [
        {"platform__cpu__model": "Another CPU"},
        {"platform__host": {"anonymous": False, "name": "elsewhere", "user": "me"}},
        {"device__name": "Another CPU"},
        {"framework__name": "numpy", "framework__full": "numpy-2.4.6"},
        {"framework__full": "pytorch-1.0"},
        {"problem__name": "resnet50"},
        {"precision": "fp64"},
        {"seed": 7},
        {"batch_size": 32},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_another_machine_version_or_work_is_no_measure(changes: dict[str, Any]) -> None:
    found = only(single(0.04, **changes), several(0.025))
    assert found.baseline is None


def test_for_how_long_was_measured_changes_no_step() -> None:
    base = single(0.04)
    base["specification"]["target_seconds"] = 9.0
    assert value(only(base, several(0.025)).speedup) == pytest.approx(1.6)


def test_networks_schemes_and_exchanges_are_runs_of_their_own_each_with_the_one_rank() -> None:
    asked: list[dict[str, Any]] = [
        {},
        {"network": "100mbit"},
        {"network": "1gbit"},
        {"network": "shared"},
        {"scheme": "sharded"},
        {"exchange": "native"},
        {"ranks": 4},
        {"scaling": "weak"},
    ]
    found = measured([single(0.04), *(several(0.02 + 0.001 * n, **one) for n, one in enumerate(asked))])
    assert len(found) == len(asked)
    seconds = [one.cell.step_seconds for one in found]
    assert seconds == pytest.approx([0.02 + 0.001 * n for n in range(len(asked))])
    # Weak scaling of 8 rows a rank has no one rank of 8.
    assert [one.baseline is not None for one in found] == [True] * 7 + [False]


def test_one_rank_with_as_many_threads_as_each_rank_goes_before_a_later_one() -> None:
    early, late = "2026-01-01T00:00:00.000000Z", "2026-01-02T00:00:00.000000Z"
    same = single(0.04, execution__threads=1, started_at=early)
    other = single(0.02, execution__threads=4, started_at=late)
    found = only(same, other, several(0.025, execution__threads=1))
    assert value(found.speedup) == pytest.approx(0.04 / 0.025)
    found = only(same, other, several(0.025, execution__threads=2))
    assert value(found.speedup) == pytest.approx(0.02 / 0.025)


def test_a_step_of_averaging_is_the_mean_of_a_period() -> None:
    """Three steps of 10 ms and one of 50 with the exchange: 20 ms each; the median step is 10."""
    steps = [0.01, 0.01, 0.01, 0.05] * 12
    found = only(single(0.04), several(steps, scheme="averaging/4"))
    assert found.cell.step_seconds == pytest.approx(0.01)
    assert found.step_seconds == pytest.approx(0.02)
    assert parts(found.speedup) == pytest.approx((2.0, 2.0, 2.0))
    assert value(only(single(0.04), several(steps, scheme="all-reduce")).speedup) == pytest.approx(4.0)


def test_a_period_may_be_longer_than_a_block_or_than_all_that_was_measured() -> None:
    """Blocks of 2 steps: a period of 3 steps ends with the third block."""
    blocks = [0.01, 0.02, 0.03] * 8
    assert only(several(blocks, scheme="averaging/3", block_steps=2)).step_seconds == pytest.approx(0.02)
    assert only(several(blocks, scheme="averaging/1000")).step_seconds == pytest.approx(0.02)
    # Periods of 4 steps are two blocks each, of 20, 40 and 20 ms.
    pairs = [0.01, 0.03, 0.03, 0.05, 0.01, 0.03]
    assert only(several(pairs, scheme="averaging/4", block_steps=2)).step_seconds == pytest.approx(0.02)


def test_averaging_of_few_periods_has_no_interval_and_of_several_processes_that_between_them() -> None:
    steps = [0.01, 0.01, 0.01, 0.05] * 6
    found = only(single(0.04), several(steps, scheme="averaging/4")).speedup
    assert parts(found) == pytest.approx((2.0, None, None))
    runs = [several(steps, scheme="averaging/4", repetition=number) for number in range(3)]
    found = only(single(0.04), *runs).speedup
    assert parts(found) == pytest.approx((2.0, 2.0, 2.0))
