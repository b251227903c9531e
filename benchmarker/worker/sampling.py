"""The timed part: nothing between two readings of the clock but the step and its synchronisation."""

from __future__ import annotations

import gc
import math
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

REPORT_SECONDS = 1.0
"""Progress is reported between steps, at most this often."""

Step = Callable[[Any], Any]
Report = Callable[[int, float], None]


@dataclass(frozen=True)
class Samples:
    """Times of consecutive steps.

    Parameters
    ----------
    nanoseconds : array of int
        One a step.
    output : object
        What the last step returned, so that no result goes unused.
    """

    nanoseconds: array[int]
    output: Any

    @property
    def seconds(self) -> list[float]:
        """The samples in seconds."""
        return [value / 1e9 for value in self.nanoseconds]

    @property
    def median_seconds(self) -> float:
        """The middle sample (the upper of two) in seconds."""
        return sorted(self.nanoseconds)[len(self.nanoseconds) // 2] / 1e9

    @property
    def total_seconds(self) -> float:
        """Sum of the samples."""
        return sum(self.nanoseconds) / 1e9


def sample(
    step: Step,
    synchronize: Callable[[Any], None],
    batch: Any,
    count: int,
    *,
    clock: Callable[[], int] = time.perf_counter_ns,
    report: Report | None = None,
) -> Samples:
    """Time ``count`` steps one by one, each closed by ``synchronize`` on what it returned.

    Parameters
    ----------
    step, synchronize : callable
        A program's step and its barrier.
    batch : object
        What the program loaded.
    count : int
        Number of steps, at least 1.
    clock : callable
        Nanoseconds, monotonic.
    report : callable, optional
        Called with the number of steps done and the last step's seconds, outside the timed part.
    """
    times = array("q", bytes(8 * count))
    interval = int(REPORT_SECONDS * 1e9)
    output = None
    next_report = clock() + interval
    for i in range(count):
        start = clock()
        output = step(batch)
        synchronize(output)
        end = clock()
        times[i] = end - start
        if end >= next_report and report is not None:
            report(i + 1, (end - start) / 1e9)
            next_report = clock() + interval
    return Samples(times, output)


def warm_up(
    step: Step,
    synchronize: Callable[[Any], None],
    batch: Any,
    count: int | None,
    *,
    clock: Callable[[], int] = time.perf_counter_ns,
    report: Report | None = None,
    minimum_steps: int = 3,
    minimum_seconds: float = 1.0,
    maximum_steps: int = 2000,
) -> Samples:
    """Run steps that do not count: ``count`` of them, or as many as ``minimum_seconds`` holds."""
    if count is not None:
        return sample(step, synchronize, batch, count, clock=clock, report=report)
    taken: array[int] = array("q")
    output = None
    while len(taken) < minimum_steps or (sum(taken) < minimum_seconds * 1e9 and len(taken) < maximum_steps):
        part = sample(step, synchronize, batch, minimum_steps, clock=clock)
        taken.extend(part.nanoseconds)
        output = part.output
        if report is not None and part.total_seconds > REPORT_SECONDS:
            report(len(taken), part.seconds[-1])
    return Samples(taken, output)


def choose_steps(
    step_seconds: float, *, target_seconds: float = 3.0, minimum: int = 20, maximum: int = 2000
) -> int:
    """Return how many steps fill the target time, within bounds."""
    wanted = math.ceil(target_seconds / max(step_seconds, 1e-9))
    return max(minimum, min(maximum, wanted))


def quieten_garbage_collector() -> None:
    """Set all objects there are aside, so that a collection among the timed steps is short; it stays enabled.

    They are not collected first: walking a framework's hundreds of thousands of objects takes a tenth of
    a second, and they live as long as the process.
    """
    gc.freeze()
