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
Feed = Callable[[], Any]
"""Returns what the next step takes."""
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
    wall_nanoseconds : int
        From the start of the first step to the end of the last, what is between steps included.
    """

    nanoseconds: array[int]
    output: Any
    wall_nanoseconds: int = 0

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
    feed: Feed,
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
    feed : callable
        Returns what the next step takes; not timed.
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
    first = end = clock()
    next_report = first + interval
    for i in range(count):
        batch = feed()
        start = clock()
        output = step(batch)
        synchronize(output)
        end = clock()
        times[i] = end - start
        if end >= next_report and report is not None:
            report(i + 1, (end - start) / 1e9)
            next_report = clock() + interval
    return Samples(times, output, end - first)


def sample_window(
    step: Step,
    synchronize: Callable[[Any], None],
    feed: Feed,
    seconds: float,
    *,
    clock: Callable[[], int] = time.perf_counter_ns,
    report: Report | None = None,
) -> Samples:
    """Time steps one by one until ``seconds`` have passed; the last one is finished, however long it takes.

    Parameters
    ----------
    seconds : float
        No step starts after this; there is one at least.
    Other parameters
        As of :func:`sample`.
    """
    times: array[int] = array("q")
    interval = int(REPORT_SECONDS * 1e9)
    first = end = clock()
    deadline = first + int(seconds * 1e9)
    next_report = first + interval
    output = None
    while end < deadline or not times:
        batch = feed()
        start = clock()
        output = step(batch)
        synchronize(output)
        end = clock()
        times.append(end - start)
        if end >= next_report and report is not None:
            report(len(times), (end - start) / 1e9)
            next_report = clock() + interval
    return Samples(times, output, end - first)


def warm_up(
    step: Step,
    synchronize: Callable[[Any], None],
    feed: Feed,
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
        return sample(step, synchronize, feed, count, clock=clock, report=report)
    taken: array[int] = array("q")
    output = None
    while len(taken) < minimum_steps or (sum(taken) < minimum_seconds * 1e9 and len(taken) < maximum_steps):
        part = sample(step, synchronize, feed, minimum_steps, clock=clock)
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
