"""One worker's events, from its start until it ends, runs out of time or is interrupted."""

from __future__ import annotations

import os
import selectors
import signal
import time
from abc import ABC, abstractmethod

from benchmarker.api.launcher import Event, Handler, Outcome
from benchmarker.errors import ProtocolError
from benchmarker.execution.launchers.control_pipe import ControlPipe
from benchmarker.execution.launchers.event_lines import EventLines
from benchmarker.execution.launchers.log_watch import REST_SECONDS, LogWatch

GRACE_SECONDS = 2.0
"""How long a worker that is being ended may take to leave."""
STACKS_SECONDS = 0.3
"""How long one that ran out of time may take to print where it stands."""
CLOSED_SECONDS = 30.0
"""How long one may run on that has closed its event pipe."""
LEAVE_SECONDS = 60.0
"""How long one may take to leave that has sent its result."""
MAX_WAIT_SECONDS = 86400.0
"""The kernel's own limit of one wait is about 24 days; a longer timeout takes several."""
_LAST = ("result", "error")


class WorkerProcess(ABC):
    """A process that works, and all that it starts in its process group."""

    @property
    @abstractmethod
    def notice(self) -> int:
        """A descriptor that becomes readable when :meth:`has_ended` has something to find out."""

    @abstractmethod
    def has_ended(self) -> bool:
        """Find out whether the process has ended; called when the notice is readable."""

    @abstractmethod
    def wait(self, seconds: float) -> None:
        """Return when the process has ended, or after so many seconds."""

    @abstractmethod
    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the process, if it is still there."""

    @abstractmethod
    def end(self) -> int:
        """End the process group at once, if it is still there, and return the process's exit status."""


class EventLoop:
    """Reads a worker's events, passes them to the handler and its answers back.

    Parameters
    ----------
    worker : WorkerProcess
        Who talks.
    events : int
        Descriptor of the event pipe.
    control : ControlPipe
        Takes the answers.
    log : LogWatch
        Of what the worker prints.
    handler : callable
        Takes each event.
    """

    def __init__(
        self, worker: WorkerProcess, events: int, control: ControlPipe, log: LogWatch, handler: Handler
    ) -> None:
        self._worker = worker
        self._events = events
        self._control = control
        self._log = log
        self._handler = handler
        self._lines = EventLines()
        self._deadlines: dict[str, float] = {}
        """When patience ends, by what the worker has done."""
        self._log_rests_until: float | None = None

    def run(self, timeout: float | None) -> Outcome:
        """Handle events until the worker has ended, or end it when ``timeout`` seconds have passed.

        Raises
        ------
        ProtocolError
            If the worker does what none does; whoever started it ends it.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            ended = self._listen(deadline)
        except KeyboardInterrupt:
            return self._end("interrupt", signal.SIGTERM, GRACE_SECONDS)
        if not ended:
            # This signal makes it print the stacks of all its threads.
            return self._end("timeout", signal.SIGUSR1, STACKS_SECONDS)
        return Outcome(self._worker.end(), "itself", self._lines.unreadable)

    def _listen(self, deadline: float | None) -> bool:
        """Handle events until the process has ended; return False when time runs out first."""
        notice = self._worker.notice
        with selectors.DefaultSelector() as selector:
            os.set_blocking(self._events, False)
            selector.register(self._events, selectors.EVENT_READ)
            selector.register(notice, selectors.EVENT_READ)
            while True:
                if deadline is not None and time.monotonic() >= deadline:
                    return False
                self._check_patience()
                self._listen_for_room(selector)
                self._listen_to_log(selector)
                ready = {key.fd for key, _ in selector.select(self._wait(deadline))}
                if self._control.fileno() in ready:
                    self._control.flush()
                if self._log.descriptor in ready:
                    self._look_at_log(selector)
                if self._events in ready and not self._read():
                    selector.unregister(self._events)
                    self._deadlines.setdefault("closed its event pipe", time.monotonic() + CLOSED_SECONDS)
                if notice in ready and self._worker.has_ended():
                    # What a forked child may still write is not waited for.
                    self._worker.end()
                    while self._read():
                        pass
                    self._log.look()
                    return True

    def _wait(self, deadline: float | None) -> float | None:
        """Return how long there is nothing to do unless something arrives."""
        moments = [*self._deadlines.values(), self._log_rests_until, deadline]
        known = [moment for moment in moments if moment is not None]
        return min(max(0.0, min(known) - time.monotonic()), MAX_WAIT_SECONDS) if known else None

    def _check_patience(self) -> None:
        for what, end in self._deadlines.items():
            if time.monotonic() >= end:
                raise ProtocolError(f"it {what} and ran on")

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

    def _read(self) -> bool:
        """Handle what is on the pipe; return False at its end or when it is empty for now."""
        try:
            data = os.read(self._events, 1 << 20)
        except BlockingIOError:
            return False
        for event in self._lines.take(data):
            self._handle(event)
        return bool(data)

    def _handle(self, event: Event) -> None:
        reply = self._handler(event)
        if reply is not None:
            self._control.write(f"{reply}\n".encode())
        if event["event"] in _LAST:
            self._deadlines.setdefault(f"sent its {event['event']}", time.monotonic() + LEAVE_SECONDS)

    def _end(self, ended_by: str, first: signal.Signals, seconds: float) -> Outcome:
        """Ask the worker with a signal, wait so long for what it does about it, then end its group."""
        self._worker.send_signal(first)
        self._worker.wait(seconds)
        return Outcome(self._worker.end(), ended_by, self._lines.unreadable)
