"""The timed part, on a clock that only moves when the test says so."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from benchmarker.worker.measurement.sampling import choose_block_steps, choose_steps, sample, warm_up

MILLISECOND = 1_000_000
SECOND = 1_000_000_000


def nothing() -> None:
    """What steps take that need nothing."""


class Laboratory:
    """A virtual clock, and a step whose times are given; notes every call."""

    def __init__(
        self, step_ns: Callable[[int], int], synchronize_ns: int = 0, clock_ns: int = 0, pulse_ns: int = 0
    ) -> None:
        self.now = 12_345
        self.calls: list[str] = []
        self.pulses: list[tuple[int, float, int]] = []
        self._step_ns = step_ns
        self._synchronize_ns = synchronize_ns
        self._clock_ns = clock_ns
        self._pulse_ns = pulse_ns
        self._steps = 0

    def clock(self) -> int:
        self.calls.append("clock")
        self.now += self._clock_ns
        return self.now

    def step(self, batch: Any) -> tuple[Any, int]:
        self.calls.append("step")
        self.now += self._step_ns(self._steps)
        self._steps += 1
        return batch, self._steps

    def synchronize(self, output: Any) -> None:
        self.calls.append(f"synchronize {output[1]}")
        self.now += self._synchronize_ns

    def pulse(self, done: int, seconds: float, output: object) -> None:
        self.calls.append("pulse")
        self.pulses.append((done, seconds, self.now))
        self.now += self._pulse_ns

    def sample(self, count: int, **options: Any) -> Any:
        return sample(self.step, self.synchronize, lambda: "batch", count, clock=self.clock, **options)

    def warm_up(self, count: int | None, **options: Any) -> Any:
        return warm_up(self.step, self.synchronize, lambda: "batch", count, clock=self.clock, **options)


def test_each_sample_is_exactly_step_and_synchronisation() -> None:
    laboratory = Laboratory(lambda i: 1000 + 7 * i, synchronize_ns=13)
    samples = laboratory.sample(50)
    assert list(samples.nanoseconds) == [1013 + 7 * i for i in range(50)]
    assert samples.seconds == [(1013 + 7 * i) / 1e9 for i in range(50)]
    assert samples.total_seconds == sum(1013 + 7 * i for i in range(50)) / 1e9
    assert samples.output == ("batch", 50)


def test_long_steps_are_kept_to_the_nanosecond() -> None:
    laboratory = Laboratory(lambda i: 5000 * SECOND + 1)
    assert list(laboratory.sample(2).nanoseconds) == [5000 * SECOND + 1] * 2


def test_nothing_is_between_the_clock_readings_but_the_step() -> None:
    laboratory = Laboratory(lambda i: SECOND, pulse_ns=77)
    laboratory.sample(3, pulse=laboratory.pulse)
    calls = " ".join(laboratory.calls)
    for i in (1, 2, 3):
        assert f"clock step synchronize {i} clock" in calls
    assert laboratory.calls.count("step") == 3


def test_a_pulse_is_outside_of_the_times() -> None:
    slow = Laboratory(lambda i: SECOND + i, pulse_ns=10 * SECOND)
    samples = slow.sample(4, pulse=slow.pulse)
    assert list(samples.nanoseconds) == [SECOND + i for i in range(4)]
    assert [(done, seconds) for done, seconds, _ in slow.pulses] == [
        (i + 1, (SECOND + i) / 1e9) for i in range(4)
    ]


def test_pulses_come_at_most_twenty_times_a_second() -> None:
    laboratory = Laboratory(lambda i: 10 * MILLISECOND, pulse_ns=MILLISECOND)
    laboratory.sample(1000, pulse=laboratory.pulse)
    times = [now for _, _, now in laboratory.pulses]
    assert 190 <= len(times) <= 200
    assert all(later - earlier >= 50 * MILLISECOND for earlier, later in zip(times, times[1:]))


def test_quick_steps_have_no_pulse() -> None:
    laboratory = Laboratory(lambda i: 1000)
    laboratory.sample(100, pulse=laboratory.pulse)
    assert laboratory.pulses == []


def test_the_cost_of_the_clock_is_in_a_sample_once() -> None:
    assert list(Laboratory(lambda i: 100, clock_ns=3).sample(5).nanoseconds) == [103] * 5


def test_a_block_is_synchronised_once_and_its_time_is_shared_out() -> None:
    laboratory = Laboratory(lambda i: 1000 + i, synchronize_ns=500)
    samples = laboratory.sample(7, block_steps=3)
    assert list(samples.nanoseconds) == [3503, 3512, 1506]
    assert samples.seconds == pytest.approx([3503e-9 / 3, 3512e-9 / 3, 1506e-9])
    assert (samples.steps, samples.block_steps) == (7, 3)
    assert samples.total_seconds == pytest.approx(8521e-9)
    assert [c for c in laboratory.calls if c.startswith("sync")] == [f"synchronize {i}" for i in (3, 6, 7)]


def test_nothing_is_fed_within_a_block() -> None:
    laboratory = Laboratory(lambda i: 1000)

    def feed() -> str:
        laboratory.calls.append("feed")
        return "batch"

    sample(laboratory.step, laboratory.synchronize, feed, 4, block_steps=2, clock=laboratory.clock)
    assert " ".join(laboratory.calls).count("feed feed clock step step synchronize") == 2


def test_a_block_that_all_steps_fit_into_is_one_sample() -> None:
    samples = Laboratory(lambda i: 1000).sample(3, block_steps=10)
    assert samples.seconds == [1e-6]


@pytest.mark.parametrize(
    ("step", "overhead", "steps", "block"),
    [
        (1e-3, 2e-7, None, 10),  # short against the target: the usual block
        (1e-5, 2e-7, None, 20),  # the clock may take a thousandth
        (1e-6, 1e-5, None, 10_000),
        (0.15, 2e-7, None, 1),  # ten would leave two blocks of three seconds
        (0.05, 2e-7, None, 3),
        (1e-3, 2e-7, 50, 2),
        (1e-6, 1e-5, 50, 50),
        (1e-3, 2e-7, 1, 1),
    ],
)
def test_a_block_is_long_against_its_overhead_and_leaves_enough_blocks(
    step: float, overhead: float, steps: int | None, block: int
) -> None:
    assert choose_block_steps(step, overhead, steps=steps, target_seconds=3.0) == block


def test_the_number_of_steps_is_whole_blocks() -> None:
    assert choose_steps(0.001, block_steps=7) % 7 == 0
    assert choose_steps(0.001, block_steps=7) == pytest.approx(3000, abs=7)
    assert choose_steps(1e-6, block_steps=100) == 2000 * 100
    assert choose_steps(1.0, target_seconds=5, minimum=3) == 5


@pytest.mark.parametrize("count", [0, 1, 2, 17])
def test_a_fixed_number_of_warm_up_steps_is_kept(count: int) -> None:
    laboratory = Laboratory(lambda i: 1000)
    warm = laboratory.warm_up(count)
    assert len(warm.nanoseconds) == laboratory.calls.count("step") == count


def test_quick_steps_warm_up_until_there_are_enough() -> None:
    laboratory = Laboratory(lambda i: 1000)
    warm = laboratory.warm_up(None)
    assert 2000 <= len(warm.nanoseconds) <= 2002
    assert len(warm.nanoseconds) == laboratory.calls.count("step")
    assert warm.output == ("batch", len(warm.nanoseconds))


def test_steps_warm_up_for_a_second() -> None:
    warm = Laboratory(lambda i: 10 * MILLISECOND).warm_up(None)
    assert 1.0 <= warm.total_seconds < 1.04
    assert 100 <= len(warm.nanoseconds) <= 102


def test_slow_steps_warm_up_three_times() -> None:
    laboratory = Laboratory(lambda i: 5 * SECOND)
    warm = laboratory.warm_up(None, pulse=laboratory.pulse)
    assert warm.steps == 3
    assert list(warm.nanoseconds) == [5 * SECOND] * 3
    assert [done for done, _, _ in laboratory.pulses] == [3]


def test_every_warm_up_step_is_synchronised() -> None:
    laboratory = Laboratory(lambda i: SECOND)
    laboratory.warm_up(None)
    assert [c for c in laboratory.calls if c != "clock"] == [
        "step",
        "synchronize 1",
        "step",
        "synchronize 2",
        "step",
        "synchronize 3",
    ]


@pytest.mark.parametrize(
    ("seconds", "steps"),
    [(0.0, 2000), (1e-6, 2000), (0.0015, 2000), (0.01, 300), (0.029, 104), (0.15, 20), (60, 20)],
)
def test_the_number_of_steps_fills_three_seconds_within_bounds(seconds: float, steps: int) -> None:
    assert choose_steps(seconds) == steps


def test_a_real_sleep_is_measured() -> None:
    samples = sample(lambda batch: time.sleep(0.01), lambda output: None, nothing, 5)
    assert 0.01 <= min(samples.seconds) < 0.05


def test_what_synchronize_waits_for_is_measured() -> None:
    samples = sample(lambda batch: None, lambda output: time.sleep(0.01), nothing, 5)
    assert min(samples.seconds) >= 0.01


def test_an_empty_step_takes_microseconds() -> None:
    samples = sample(lambda batch: None, lambda output: None, nothing, 500)
    assert sorted(samples.nanoseconds)[250] < 50_000


def test_a_loop_timed_from_outside_agrees() -> None:
    def step(batch: None) -> int:
        return sum(range(20_000))

    # By CPU time, which others on the machine do not lengthen.
    start = time.thread_time_ns()
    samples = sample(step, lambda output: None, nothing, 200, clock=time.thread_time_ns)
    outside = time.thread_time_ns() - start
    assert 0.5 * outside < sum(samples.nanoseconds) <= outside
