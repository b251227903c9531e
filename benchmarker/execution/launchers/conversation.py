"""One worker's side of an event loop: its events, what it is told, its log, and how long one is patient with it."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable

from benchmarker.api.launcher import Event
from benchmarker.errors import ProtocolError
from benchmarker.execution.launchers.control_pipe import ControlPipe
from benchmarker.execution.launchers.event_lines import EventLines
from benchmarker.execution.launchers.log_watch import REST_SECONDS, LogWatch
from benchmarker.execution.launchers.worker_process import WorkerProcess

CLOSED_SECONDS = 30.0
"""How long a worker may run on that has closed its event pipe."""
_LAST = ("result", "error")


class Conversation:
    """Reads a worker's events and writes what it is told.

    Parameters
    ----------
    worker : WorkerProcess
        Who talks.
    events : int
        Descriptor of the event pipe.
    control : ControlPipe
        Takes what the worker is told.
    log : LogWatch
        Of what the worker prints.
    timeout : float or None
        Seconds from when one begins to listen until its time is over.

    Attributes
    ----------
    last_event : str or None
        The kind of the event that nothing follows, once it was sent.
    heard : float
        When it last said something or was told something.
    """

    def __init__(
        self, worker: WorkerProcess, events: int, control: ControlPipe, log: LogWatch, timeout: float | None
    ) -> None:
        self.worker = worker
        self.last_event: str | None = None
        self.heard = time.monotonic()
        self.deadline: float | None = None
        self._timeout = timeout
        self._events = events
        self._control = control
        self._log = log
        self._lines = EventLines()
        self._patience: dict[str, float] = {}
        """When patience ends, by what the worker has done."""
        self._log_rests_until: float | None = None

    @property
    def unreadable(self) -> int:
        """How many lines were no events."""
        return self._lines.unreadable

    def open(self, selector: selectors.BaseSelector, now: float) -> None:
        """Begin to listen, at the same moment as to all others."""
        self.deadline = None if self._timeout is None else now + self._timeout
        os.set_blocking(self._events, False)
        selector.register(self._events, selectors.EVENT_READ)
        selector.register(self.worker.notice, selectors.EVENT_READ)

    def close(self, selector: selectors.BaseSelector) -> None:
        """Listen no longer."""
        for descriptor in (self._events, self.worker.notice, self._control.fileno(), self._log.descriptor):
            if descriptor is not None and descriptor in selector.get_map():
                selector.unregister(descriptor)

    def tell(self, message: str) -> None:
        """Send a line to the worker."""
        self._control.write(f"{message}\n".encode())
        self.heard = time.monotonic()

    def expect(self, seconds: float, what: str) -> None:
        """Let the worker run for so many seconds more after what it has done."""
        self._patience.setdefault(what, time.monotonic() + seconds)

    def prepare(self, selector: selectors.BaseSelector) -> None:
        """Listen for all that may happen next.

        Raises
        ------
        ProtocolError
            If patience is at an end.
        """
        for what, end in self._patience.items():
            if time.monotonic() >= end:
                raise ProtocolError(f"it {what} and ran on")
        self._listen_for_room(selector)
        self._listen_to_log(selector)

    def moments(self) -> list[float]:
        """Return when there is something to do even if nothing arrives."""
        moments = (*self._patience.values(), self._log_rests_until, self.deadline)
        return [moment for moment in moments if moment is not None]

    def take(
        self, ready: set[int], selector: selectors.BaseSelector, handle: Callable[[Event], None]
    ) -> bool:
        """Take what has arrived on descriptors that are ready, and return whether the process has ended.

        Raises
        ------
        ProtocolError
            If the worker does what none does.
        """
        if self._control.fileno() in ready:
            self._control.flush()
        if self._log.descriptor in ready:
            self._look_at_log(selector)
        if self._events in ready and not self._read(handle):
            selector.unregister(self._events)
            self.expect(CLOSED_SECONDS, "closed its event pipe")
        if self.worker.notice not in ready or not self.worker.has_ended():
            return False
        # What a forked child may still write is not waited for.
        self.worker.end()
        while self._read(handle):
            pass
        self._log.look()
        return True

    def _listen_for_room(self, selector: selectors.BaseSelector) -> None:
        """Wait for room in the control pipe while there is something to write."""
        listens = self._control.fileno() in selector.get_map()
        if self._control.is_waiting and not listens:
            selector.register(self._control, selectors.EVENT_WRITE)
        elif listens and not self._control.is_waiting:
            selector.unregister(self._control)

    def _listen_to_log(self, selector: selectors.BaseSelector) -> None:
        """Wait for the log to grow, unless it has just been looked at."""
        log, rests_until = self._log.descriptor, self._log_rests_until
        if log is None or log in selector.get_map():
            return
        if rests_until is None or time.monotonic() >= rests_until:
            self._log_rests_until = None
            selector.register(log, selectors.EVENT_READ)

    def _look_at_log(self, selector: selectors.BaseSelector) -> None:
        self._log.look()
        selector.unregister(self._log.descriptor)  # type: ignore[arg-type]
        self._log_rests_until = time.monotonic() + REST_SECONDS

    def _read(self, handle: Callable[[Event], None]) -> bool:
        """Handle what is on the pipe; return False at its end or when it is empty for now."""
        try:
            data = os.read(self._events, 1 << 20)
        except BlockingIOError:
            return False
        for event in self._lines.take(data):
            self.heard = time.monotonic()
            handle(event)
            if event["event"] in _LAST:
                self.last_event = event["event"]
        return bool(data)
