"""Steps by the device's own clock, beside the wall clock: events queued before and after each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarker.framework import Program


class DeviceEvents:
    """Notes a pair of events for each step; queuing one takes the host some microseconds and waits for nothing.

    Parameters
    ----------
    program : Program
        Whose device it is.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._pairs: list[tuple[Any, Any]] = []
        self._present = program.device_event() is not None

    def around(self, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return the step between two events; the step itself where the device has none."""
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
        """Return the device's seconds for each step; None where it has no events. All must have been reached."""
        if not self._present:
            return None
        return [self._program.device_seconds(first, last) for first, last in self._pairs]
