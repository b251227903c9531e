"""How late results are after ``synchronize`` has returned: a step that it did not wait for is still going on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any, Union

from benchmarker.api.program import Program

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

MAX_SHARE = 0.4
"""Share of a step that may still have to be waited for; a program that waits leaves none, one that
does not leaves nearly all, and a busy machine adds to both."""

MIN_LATE_SECONDS = 1e-3
"""Less may be a page that is touched for the first time."""

MIN_COPIED_BYTES_PER_SECOND = 5e8
"""No device copies its results to the host more slowly; what takes longer was still to be computed."""

MAX_START_SECONDS = 5e-5
"""What it may take until an array begins to be copied."""

Collected = Union[Sequence["Array"], Mapping[str, "Array"]]
Step = Callable[[], Any]
Collect = Callable[[Any], Collected]


def waited_for(program: Program, step: Step, collect: Collect) -> tuple[float, float]:
    """Return the seconds of one synchronised step, and those that its results were late after it.

    The results are collected twice; the second time nothing is left to wait for, which gives the
    cost of collecting itself. Where that leaves a suspicion, the cost is that of another step's results,
    long after it has ended: a framework may keep the copy of a device's results that it once made. It is
    no more than copying so many arrays and bytes can take, since a framework may also begin only when it is asked.
    """
    start = perf_counter()
    output = step()
    program.synchronize(output)
    synchronised = perf_counter()
    collect(output)
    first = perf_counter()
    collect(output)
    seconds, collecting, again = synchronised - start, first - synchronised, perf_counter() - first
    if share_late(seconds, collecting - again) > MAX_SHARE:
        again = max(again, _collecting_ended(program, step, collect, seconds + collecting))
    return seconds, max(0.0, collecting - again)


def _collecting_ended(program: Program, step: Step, collect: Collect, pause: float) -> float:
    """Return the seconds that collecting a step's results takes, ``pause`` seconds after it was asked for."""
    output = step()
    program.synchronize(output)
    sleep(pause)
    start = perf_counter()
    collected = collect(output)
    seconds = perf_counter() - start
    arrays = collected.values() if isinstance(collected, Mapping) else collected
    copying = sum(array.nbytes for array in arrays) / MIN_COPIED_BYTES_PER_SECOND
    return min(seconds, copying + MAX_START_SECONDS * len(collected))


def share_late(seconds: float, late: float) -> float:
    """Return the share of a step and of what it was late by that came after ``synchronize``."""
    return late / (seconds + late) if late > MIN_LATE_SECONDS else 0.0
