"""Predicted steps: computing, sending, and what of the sending is hidden."""

from __future__ import annotations

import pytest

from benchmarker.analysis.scaling.exchanges import exchange_of
from benchmarker.analysis.scaling.prediction import Workload, predict
from benchmarker.analysis.scaling.readiness import Bucket
from benchmarker.analysis.scaling.scale import STRONG, WEAK, Scaling
from benchmarker.analysis.scaling.slowest import StepTimes
from benchmarker.api.interconnect import Interconnect
from benchmarker.errors import UsageError

GIGABYTE_A_SECOND = Interconnect("1GB", 0.0, 1e9)
ALL_REDUCE = exchange_of("all-reduce")


def work(*buckets: Bucket, seconds: tuple[float, ...] = (0.3,)) -> Workload:
    """A step of which the last two thirds are the backward pass."""
    return Workload(StepTimes(seconds), buckets, 2 / 3)


def test_one_rank_sends_nothing_and_takes_its_own_time() -> None:
    found = predict(work(Bucket(1.0, 10**8), seconds=(0.3, 0.5)), 1, ALL_REDUCE, GIGABYTE_A_SECOND)
    assert (found.step_seconds, found.sending_seconds, found.bytes_per_rank) == (0.4, 0.0, 0.0)
    assert (found.low, found.high) == (0.3, 0.5)


def test_what_is_ready_early_is_sent_while_the_rest_is_computed() -> None:
    # At two ranks, 100 MB take 0.1 s each. The first can go at 0.1 + 0.1 s and is through as the second is ready.
    buckets = (Bucket(0.5, 10**8), Bucket(1.0, 10**8))
    found = predict(work(*buckets), 2, ALL_REDUCE, GIGABYTE_A_SECOND)
    assert found.sending_seconds == pytest.approx(0.2)
    assert found.exposed_seconds == pytest.approx(0.1)
    assert found.step_seconds == pytest.approx(0.4)
    assert found.bytes_per_rank == pytest.approx(2e8)


def test_sending_that_is_longer_than_computing_queues_up() -> None:
    buckets = (Bucket(0.5, 10**9), Bucket(1.0, 10**9))
    found = predict(work(*buckets), 2, ALL_REDUCE, GIGABYTE_A_SECOND)
    assert found.step_seconds == pytest.approx(0.2 + 1.0 + 1.0)


@pytest.mark.parametrize(("scheme", "overlap"), [("all-reduce", False), ("averaging/1", True)])
def test_without_overlap_all_is_sent_at_the_end(scheme: str, overlap: bool) -> None:
    buckets = (Bucket(0.5, 10**8), Bucket(1.0, 10**8))
    found = predict(work(*buckets), 2, exchange_of(scheme), GIGABYTE_A_SECOND, overlap=overlap)
    assert found.exposed_seconds == pytest.approx(0.2)


def test_the_slowest_rank_is_waited_for() -> None:
    times = (0.1,) * 9 + (0.2,)
    alone, many = (
        predict(work(Bucket(1.0, 0), seconds=times), ranks, ALL_REDUCE, GIGABYTE_A_SECOND)
        for ranks in (1, 100)
    )
    assert alone.step_seconds == pytest.approx(0.11)
    assert many.step_seconds == pytest.approx(0.2, abs=1e-5)
    assert alone.is_known
    assert not many.is_known


def test_weak_scaling_keeps_the_mini_batch_of_each_rank() -> None:
    scaling = Scaling(WEAK, {32: work(Bucket(1.0, 0))})
    points = scaling.curve((1, 2, 4), ALL_REDUCE, GIGABYTE_A_SECOND, overlap=True).points
    assert [point.speedup for point in points] == pytest.approx([1, 2, 4])
    assert [point.efficiency for point in points] == pytest.approx([1, 1, 1])
    assert points[2].samples_per_second == pytest.approx(4 * 32 / 0.3)


def test_strong_scaling_takes_the_step_of_the_smaller_mini_batch() -> None:
    workloads = {32: work(Bucket(1.0, 0)), 16: work(Bucket(1.0, 0), seconds=(0.2,))}
    point = Scaling(STRONG, workloads).curve((2,), ALL_REDUCE, GIGABYTE_A_SECOND, overlap=True).points[0]
    assert point.speedup == pytest.approx(1.5)
    assert point.efficiency == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("ranks", "told"), [(3, "divide the mini-batch of 32, got 3"), (4, "one-rank record of batch size 8")]
)
def test_strong_scaling_refuses_what_was_not_measured(ranks: int, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Scaling(STRONG, {32: work(), 16: work()}).rank_batch_size(ranks)
