"""A window on a clock that only moves when a step does: it lasts to the true end of the last step."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarker.worker.measurement.sampling import sample

SECOND = 1_000_000_000


class Clock:
    """A clock that each step moves by the next of some seconds, the last of them over and over."""

    def __init__(self, *seconds: float, between: float = 0.0) -> None:
        self.now = 5 * SECOND
        self.pulses: list[int] = []
        self._seconds = list(seconds)
        self._between = int(between * SECOND)

    def __call__(self) -> int:
        return self.now

    def step(self, batch: Any) -> str:
        self.now += int((self._seconds.pop(0) if len(self._seconds) > 1 else self._seconds[0]) * SECOND)
        return "output"

    def pulse(self, done: int, seconds: float, output: object) -> None:
        self.pulses.append(done)
        self.now += self._between

    def window(self, seconds: float) -> Any:
        return sample(
            self.step, lambda output: None, lambda: "batch", seconds=seconds, clock=self, pulse=self.pulse
        )


def test_the_last_step_is_finished_and_counted_with_all_its_time() -> None:
    samples = Clock(0.4, 0.4, 5.0).window(1.0)
    assert samples.seconds == [0.4, 0.4, 5.0]
    assert samples.wall_nanoseconds == 5.8 * SECOND
    assert samples.output == "output"


def test_a_window_that_is_filled_exactly_starts_no_further_step() -> None:
    samples = Clock(0.25).window(1.0)
    assert len(samples.nanoseconds) == 4
    assert samples.wall_nanoseconds == SECOND


@pytest.mark.parametrize("seconds", [1e-12, 0.5])
def test_there_is_one_step_at_least(seconds: float) -> None:
    assert Clock(0.7).window(seconds).seconds == [0.7]


def test_pulses_are_part_of_the_window_but_of_no_step() -> None:
    clock = Clock(0.5, between=0.25)
    samples = clock.window(3.0)
    assert set(samples.seconds) == {0.5}
    # The last pulse comes after the last step's end.
    between = len(clock.pulses) - 1
    assert samples.wall_nanoseconds == (len(samples.nanoseconds) * 0.5 + between * 0.25) * SECOND
    assert between > 0


def test_a_window_of_blocks_ends_with_a_whole_block() -> None:
    clock = Clock(0.4)
    samples = sample(clock.step, lambda output: None, lambda: None, seconds=1.0, block_steps=2, clock=clock)
    assert samples.seconds == [0.4, 0.4]
    assert samples.steps == 4


def test_a_number_of_steps_has_a_wall_time_too() -> None:
    clock = Clock(0.03, between=0.1)
    samples = sample(clock.step, lambda output: None, lambda: None, 3, clock=clock, pulse=clock.pulse)
    assert samples.wall_nanoseconds == pytest.approx((3 * 0.03 + 0.1) * SECOND)
    assert clock.pulses == [2]
