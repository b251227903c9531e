"""The timed part: nothing between two readings of the clock but steps and their synchronisation."""

from __future__ import annotations

import gc
import math
import sys
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarker.quick_dataclass import dataclass

PULSE_SECONDS = 0.05
"""How often, at most, something else is done between two samples."""
OVERHEAD_SHARE = 0.001
"""Share of a sample that the clock and the synchronisation may take."""
USUAL_BLOCK = 10
"""Steps of a block where samples are short enough for it."""
MIN_SAMPLES = 20
MAX_SAMPLES = 2000
WARM_UP_SECONDS = 1.0
MIN_WARM_UP_STEPS, MAX_WARM_UP_STEPS = 3, 2000
"""Of a warm-up whose length nobody states."""

Step = Callable[[Any], Any]
Synchronize = Callable[[Any], None]
Feed = Callable[[], Any]
"""Returns what the next step takes."""
Report = Callable[[int, float, Any], None]
"""Takes the steps done, the seconds per step of the last sample and what it returned; called between samples."""
Clock = Callable[[], int]


@dataclass(frozen=True)
class Samples:
    """Times of consecutive blocks of steps; a block is one step where each step is synchronised.

    Parameters
    ----------
    nanoseconds : array of int
        One a block.
    output : object
        What the last step returned, so that no result goes unused.
    wall_nanoseconds : int
        From the start of the first step to the end of the last, what is between them included.
    steps : int
        Number of steps.
    block_steps : int
        Steps of a block. The last block may have fewer, and has all where there is one block only.
    """

    nanoseconds: array[int]
    output: Any
    wall_nanoseconds: int = 0
    steps: int = 0
    block_steps: int = 1

    @property
    def seconds(self) -> list[float]:
        """Seconds per step of each block."""
        return seconds_per_step(self.nanoseconds, self.steps, self.block_steps)

    @property
    def median_seconds(self) -> float:
        """The middle of :attr:`seconds` (the upper of two)."""
        ordered = sorted(self.seconds)
        return ordered[len(ordered) // 2]

    @property
    def total_seconds(self) -> float:
        return sum(self.nanoseconds) / 1e9


def seconds_per_step(nanoseconds: array[int], steps: int, block_steps: int) -> list[float]:
    """Return the seconds per step of each block; the last block has the steps that are left."""
    last = steps - block_steps * (len(nanoseconds) - 1)
    found = [value / block_steps / 1e9 for value in nanoseconds]
    if found:
        found[-1] = nanoseconds[-1] / last / 1e9
    return found


def sample(
    step: Step,
    synchronize: Synchronize,
    feed: Feed,
    count: int = sys.maxsize,
    *,
    seconds: float = math.inf,
    block_steps: int = 1,
    clock: Clock = time.perf_counter_ns,
    pulse: Report | None = None,
) -> Samples:
    """Time steps, each block of them closed by ``synchronize`` on what its last step returned.

    Parameters
    ----------
    step, synchronize : callable
        A program's step and its barrier.
    feed : callable
        Returns what the next step takes; not timed.
    count : int
        Number of steps at most, at least 1.
    seconds : float
        No block starts after this; there is one at least, and the last is finished however long it takes.
    block_steps : int
        Steps between two synchronisations: 1 gives the latency of each step, more the time a step takes
        in a row of steps.
    clock : callable
        Nanoseconds, monotonic.
    pulse : callable, optional
        Called between samples, at most every :data:`PULSE_SECONDS`.
    """
    times: array[int] = array("q")
    interval = int(PULSE_SECONDS * 1e9)
    output = None
    done = 0
    first = end = clock()
    deadline = _deadline(first, seconds)
    next_pulse = sys.maxsize if pulse is None else first + interval
    while done < count and (end < deadline or not done):
        if block_steps == 1:
            batch = feed()
            start = clock()
            output = step(batch)
            synchronize(output)
            end = clock()
            length = 1
        else:
            length = min(block_steps, count - done)
            batches = [feed() for _ in range(length)]
            start = clock()
            for batch in batches:
                output = step(batch)
            synchronize(output)
            end = clock()
        times.append(end - start)
        done += length
        if end >= next_pulse and pulse is not None:
            pulse(done, (end - start) / length / 1e9, output)
            next_pulse = clock() + interval
    return Samples(times, output, end - first, done, block_steps)


def _deadline(start: int, seconds: float) -> int:
    """Return a whole number also where there is none, because comparing with infinity takes longer."""
    return sys.maxsize if seconds == math.inf else start + int(seconds * 1e9)


def warm_up(
    step: Step,
    synchronize: Synchronize,
    feed: Feed,
    count: int | None,
    *,
    clock: Clock = time.perf_counter_ns,
    pulse: Report | None = None,
) -> Samples:
    """Run steps that do not count: ``count`` of them, or as many as :data:`WARM_UP_SECONDS` holds."""
    if count is not None:
        return sample(step, synchronize, feed, count, clock=clock, pulse=pulse)
    taken: array[int] = array("q")
    output = None
    enough = WARM_UP_SECONDS * 1e9
    while len(taken) < MIN_WARM_UP_STEPS or (sum(taken) < enough and len(taken) < MAX_WARM_UP_STEPS):
        part = sample(step, synchronize, feed, MIN_WARM_UP_STEPS, clock=clock)
        taken.extend(part.nanoseconds)
        output = part.output
        if pulse is not None:
            pulse(len(taken), part.seconds[-1], output)
    return Samples(taken, output, sum(taken), len(taken))


def choose_block_steps(
    step_seconds: float, overhead_seconds: float, *, steps: int | None, target_seconds: float
) -> int:
    """Return how many steps a block should have.

    So many that clock and synchronisation take :data:`OVERHEAD_SHARE` of it at most, and
    :data:`USUAL_BLOCK` where that leaves :data:`MIN_SAMPLES` blocks.

    Parameters
    ----------
    step_seconds : float
        About how long a step takes.
    overhead_seconds : float
        What a reading of the clock and an empty synchronisation take together.
    steps : int or None
        How many steps will be timed, if that is known.
    target_seconds : float
        How long the timed part should last otherwise.
    """
    needed = math.ceil(overhead_seconds / OVERHEAD_SHARE / max(step_seconds, 1e-9))
    expected = steps if steps is not None else target_seconds / max(step_seconds, 1e-9)
    usual = min(USUAL_BLOCK, int(expected / MIN_SAMPLES))
    wanted = max(1, needed, usual)
    return wanted if steps is None else min(wanted, steps)


def choose_steps(
    step_seconds: float,
    *,
    block_steps: int = 1,
    target_seconds: float = 3.0,
    minimum: int = MIN_SAMPLES,
    maximum: int = MAX_SAMPLES,
) -> int:
    """Return how many steps fill the target time, in ``minimum`` to ``maximum`` whole blocks."""
    wanted = math.ceil(target_seconds / max(step_seconds * block_steps, 1e-9))
    return max(minimum, min(maximum, wanted)) * block_steps


def freeze_gc() -> None:
    """Set all objects there are aside, so that a collection among the timed steps is short; it stays enabled.

    They are not collected first: walking a framework's hundreds of thousands of objects takes a tenth of
    a second, and they live as long as the process.
    """
    gc.freeze()


@contextmanager
def garbage_collector(state: str) -> Iterator[None]:
    """Have Python's garbage collector ``"on"``, for new objects alone, or ``"off"``; it is on afterwards."""
    freeze_gc()
    if state == "off":
        gc.disable()
    try:
        yield
    finally:
        gc.enable()
