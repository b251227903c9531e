"""The search of a server's rate, on simulated servers whose answer is known, by the loop that serves real ones."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from benchmarker.worker.measurement.arrivals import poisson_arrivals
from benchmarker.worker.measurement.percentile_bounds import MET, MISSED, min_late
from benchmarker.worker.measurement.scenarios import trial_of
from benchmarker.worker.measurement.server_search import (
    ALONE,
    CONFIRMATION,
    CONFIRMATIONS,
    SUSTAINED,
    UNCONFIRMED,
    UNREACHABLE,
    Search,
    Searcher,
    Trial,
)
from benchmarker.worker.measurement.serving import Served, Waiting, serve, serve_alone

SERVICE, BOUND = 0.001, 0.005


class Simulated(Waiting):
    """A clock that goes on by what the server takes, and by waiting."""

    def __init__(self, service: Callable[[], float]) -> None:
        self.now = 0
        self.service = service
        super().__init__(lambda: self.now)

    def until(self, moment: int) -> None:
        self.now = max(self.now, moment)

    def step(self, batch: Any) -> Any:
        self.now += round(self.service() * 1e9)
        return batch

    def serve(self, rate: float, number: int, count: int, stop_at: int | None = None) -> Served:
        arrivals = poisson_arrivals(7, number, rate, count)
        what = self.step, lambda output: None, lambda: None
        return serve(*what, arrivals, bound=BOUND, stop_at=stop_at, waiting=self)


def found_by(service: Callable[[], float], *, count: int = 20_000, disturbed: int = -1) -> Search:
    """Search a server; the confirmations from a trial's number on are served at half its speed."""

    def run(rate: float, number: int, part: str) -> Trial:
        slower = 2 if 0 <= disturbed <= number and part == CONFIRMATION else 1
        server = Simulated(lambda: slower * service())
        return trial_of(part, number, rate, server.serve(rate, number, count, min_late(count, 99)), count)

    server = Simulated(service)
    alone = serve_alone(
        server.step, lambda output: None, lambda: None, count, bound=BOUND, clock=server.clock
    )
    searcher = Searcher(run, BOUND, 99)
    capacity = count / (sum(alone.services) / 1e9)
    found = searcher.search(trial_of(ALONE, 0, None, alone, count), capacity)
    return searcher.confirm(found) if found.rate else found


def md1_waits_at_most(seconds: float, rate: float) -> float:
    """Return the share of queries that wait at most so long for a server that takes the same time for each.

    Source: Erlang 1909; Gross et al., Fundamentals of Queueing Theory, 4th ed., section 5.1.3 (M/D/1).
    """
    terms = []
    for k in range(math.floor(seconds / SERVICE) + 1):
        x = rate * (k * SERVICE - seconds)
        terms.append(x**k / math.factorial(k) * math.exp(-x))
    return (1 - rate * SERVICE) * math.fsum(terms)


def md1_rate(bound: float) -> float:
    """Return the rate at which the 99th percentile of latencies is the bound, by bisection."""
    low, high = 0.0, 1 / SERVICE
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if md1_waits_at_most(bound - SERVICE, middle) > 0.99 else (low, middle)
    return low


def test_arrivals_are_a_poisson_process_and_the_same_for_ever() -> None:
    times = poisson_arrivals(7, 3, 100.0, 20_000)
    gaps = [(b - a) / 1e9 for a, b in zip(times, times[1:])]
    mean = math.fsum(gaps) / len(gaps)
    deviation = math.sqrt(math.fsum((gap - mean) ** 2 for gap in gaps) / len(gaps))
    assert mean == pytest.approx(0.01, rel=0.03)
    assert deviation == pytest.approx(mean, rel=0.03)
    # Exponential gaps have no memory: counts in windows vary as much as their mean.
    counts = [0] * 190
    for at in times:
        if at < 190e9:
            counts[int(at / 1e9)] += 1
    of_counts = math.fsum(counts) / 190
    assert math.fsum((c - of_counts) ** 2 for c in counts) / 189 == pytest.approx(of_counts, rel=0.35)
    assert poisson_arrivals(42, 1, 1000.0, 3).tolist() == EXPECTED
    assert poisson_arrivals(42, 1, 500.0, 3).tolist() == pytest.approx([2 * t for t in EXPECTED], abs=1)
    assert poisson_arrivals(43, 1, 1000.0, 3).tolist() != EXPECTED
    assert poisson_arrivals(42, 2, 1000.0, 3).tolist() != EXPECTED


EXPECTED = [1193188, 3830594, 4491739]


def test_latencies_count_from_the_arrival_and_are_those_of_the_queue() -> None:
    rate = 700.0
    served = Simulated(lambda: SERVICE).serve(rate, 1, 60_000)
    assert set(served.services) == {1_000_000}
    assert served.wall_nanoseconds / 1e9 == pytest.approx(60_000 / rate, rel=0.02)
    for bound in (0.002, 0.004, 0.006):
        share = sum(latency <= bound * 1e9 for latency in served.latencies) / 60_000
        assert share == pytest.approx(md1_waits_at_most(bound - SERVICE, rate), abs=0.02)
    # Of a server that is too slow the latencies grow: clients do not ask later.
    late = Simulated(lambda: SERVICE).serve(1500.0, 1, 3000)
    assert late.latencies[-1] == pytest.approx(3000 * (1 / 1000 - 1 / 1500) * 1e9, rel=0.1)
    assert late.late > 2900
    stopped = Simulated(lambda: SERVICE).serve(1500.0, 1, 3000, stop_at=10)
    assert (stopped.late, len(stopped.latencies)) == (10, len(stopped.services))
    assert len(stopped.latencies) < 200


def test_the_rate_of_a_server_that_always_takes_the_same_is_found() -> None:
    true = md1_rate(BOUND)
    assert true == pytest.approx(560.8, abs=0.1)
    found = found_by(lambda: SERVICE)
    assert found.outcome == SUSTAINED
    assert found.rate is not None
    low, high = found.interval
    assert low == found.rate
    assert low <= true <= high
    assert low == pytest.approx(true, rel=0.1)
    assert found.capacity == pytest.approx(1 / SERVICE)
    last = found.trials[-CONFIRMATIONS:]
    assert [(t.part, t.rate, t.verdict) for t in last] == [(CONFIRMATION, low, MET)] * CONFIRMATIONS
    assert len({trial.number for trial in found.trials}) == len(found.trials)


def test_sleeps_now_and_then_lower_the_rate() -> None:
    """One query of two hundred takes ten times as long: the mean is 4 % higher, the rate falls far more."""
    draw = random.Random(3).random
    found = found_by(lambda: SERVICE * (10 if draw() < 0.005 else 1))
    assert found.rate is not None
    assert found.rate < 0.6 * md1_rate(BOUND)
    assert found.capacity > 0.93 / SERVICE


def test_a_server_that_is_too_slow_at_any_rate_is_told_plainly() -> None:
    found = found_by(lambda: 1.2 * BOUND, count=700)
    assert (found.outcome, found.rate, len(found.trials)) == (UNREACHABLE, None, 1)
    assert found.reason == (
        "no rate keeps 0.005 s: with nothing to wait for, the 99th percentile of latencies is 0.006 s, and 700 of 700 "
        "took longer"
    )
    assert found.interval[0] == 0.0


def test_a_server_that_is_never_proven_to_keep_the_bound_is_told_plainly() -> None:
    """One query of a hundred is late by itself, which is neither within nor beyond the 99th percentile."""
    count = iter(range(10**9))
    found = found_by(lambda: SERVICE * (10 if next(count) % 100 == 0 else 1), count=2000)
    assert found.outcome == UNREACHABLE
    assert found.reason is not None
    assert "no rate was found that keeps 0.005 s: even 1" in found.reason


def test_what_does_not_hold_again_is_no_rate() -> None:
    found = found_by(lambda: SERVICE, count=2000, disturbed=0)
    assert (found.outcome, found.rate) == (UNCONFIRMED, None)
    assert found.reason is not None
    assert "in 3 further trials in a row" in found.reason
    assert found.interval[0] == 0.0
    assert {t.verdict for t in found.trials if t.part == CONFIRMATION} <= {MISSED, "undecided"}
