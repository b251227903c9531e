"""What measuring costs is measured with the sampler itself."""

from __future__ import annotations

from typing import Any

from benchmarker.worker.measurement import overhead


class Clock:
    """Moves by so many nanoseconds every so many readings."""

    def __init__(self, step: int, every: int = 1) -> None:
        self.now, self._step, self._every, self._readings = 0, step, every, 0

    def __call__(self) -> int:
        self._readings += 1
        if self._readings % self._every == 0:
            self.now += self._step
        return self.now


def test_the_null_loop_costs_something_and_less_inside_than_in_all() -> None:
    null = overhead.null_loop_seconds(500)
    assert 0 < null["p50"] <= null["p99"]
    assert null["p50"] < null["per_step"]


def test_a_coarse_clock_is_seen() -> None:
    assert overhead.clock_resolution_seconds(Clock(15_600_000, every=40)) == 0.0156
    assert overhead.clock_resolution_seconds(Clock(7)) == 7e-9


def test_the_first_synchronisation_may_have_something_to_wait_for() -> None:
    clock = Clock(0)
    waits = iter([50_000_000, *[3_000] * 10_000])

    def synchronize(output: Any) -> None:
        assert output == "pending"
        clock.now += next(waits)

    assert overhead.synchronisation_seconds(synchronize, "pending", clock=clock) == 3e-6


def test_a_slow_synchronisation_is_not_repeated_for_long() -> None:
    clock, calls = Clock(0), []

    def synchronize(output: Any) -> None:
        calls.append(output)
        clock.now += 20_000_000

    assert overhead.synchronisation_seconds(synchronize, None, clock=clock) == 0.02
    assert len(calls) == 4


def test_costs_are_told_with_their_unit() -> None:
    costs = overhead.costs(lambda output: None, None)
    told = costs.to_json()
    assert set(told) == {
        "null_p50_seconds",
        "null_p99_seconds",
        "null_step_seconds",
        "clock_resolution_seconds",
        "synchronisation_seconds",
    }
    assert costs.sample_seconds == told["null_p50_seconds"] + told["synchronisation_seconds"]
