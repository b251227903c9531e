"""Steps by the device's own clock, beside the wall clock: events queued before and after each step.

Queuing a pair takes the host some microseconds, which the wall clock counts too: short steps go without.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarker.api.program import Program

MAX_SHARE = 0.01
"""Share of a step that queuing its pair of events may take."""
TRIALS = 51


class DeviceEvents:
    """Notes a pair of events for each step, which waits for nothing.

    Parameters
    ----------
    program : Program
        Whose device it is.
    step_seconds : float
        About how long a step takes.
    """

    def __init__(self, program: Program, step_seconds: float = math.inf) -> None:
        self._program = program
        self._pairs: list[tuple[Any, Any]] = []
        self._present = (
            program.device_event() is not None and pair_seconds(program) <= MAX_SHARE * step_seconds
        )

    def around(self, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return the step between two events; the step itself where there are none."""
        if not self._present:
            return step
        event, pairs = self._program.device_event, self._pairs

        def between_events(batch: Any) -> Any:
            first = event()
            output = step(batch)
            pairs.append((first, event()))
            return output

        return between_events

    def seconds(self) -> list[float] | None:
        """Return the device's seconds for each step; None where there are no events. All must have been reached."""
        if not self._present:
            return None
        return [self._program.device_seconds(first, last) for first, last in self._pairs]


def pair_seconds(program: Program) -> float:
    """Return the median time that queuing a pair of events takes the host."""
    taken = []
    for _ in range(TRIALS):
        start = time.perf_counter()
        program.device_event()
        program.device_event()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)
