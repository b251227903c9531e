"""One worker's events, from its start until it ends, runs out of time or is interrupted."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import time
from abc import ABC, abstractmethod
from typing import Any

from benchmarker.launchers import Event, Handler, Outcome

GRACE_SECONDS = 2.0
"""How long a worker that is being ended may take to leave."""
STACKS_SECONDS = 0.3
"""How long one that ran out of time may take to print where it stands."""
LONGEST_WAIT_SECONDS = 86400.0
"""The kernel's own limit of one wait is about 24 days; a longer timeout takes several."""
LONGEST_EVENT = 64 << 20
"""A line longer than this is no event."""


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


class Conversation:
    """Reads a worker's events, passes them to the handler and its answers back.

    Parameters
    ----------
    worker : WorkerProcess
        Who talks.
    events : int
        Descriptor of the event pipe.
    control : file object
        Unbuffered; takes the answers.
    handler : callable
        Takes each event.
    """

    def __init__(self, worker: WorkerProcess, events: int, control: Any, handler: Handler) -> None:
        self._worker = worker
        self._events = events
        self._control = control
        self._handler = handler
        self._pending = b""
        self._unreadable = 0

    def follow(self, timeout: float | None) -> Outcome:
        """Handle events until the worker has ended, or end it when ``timeout`` seconds have passed."""
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            ended = self._listen(deadline)
        except KeyboardInterrupt:
            return self._end("interrupt", signal.SIGTERM, GRACE_SECONDS)
        if not ended:
            # This signal makes it print the stacks of all its threads.
            return self._end("timeout", signal.SIGUSR1, STACKS_SECONDS)
        return Outcome(self._worker.end(), "itself", self._unreadable)

    def _listen(self, deadline: float | None) -> bool:
        """Handle events until the process has ended; return False when time runs out first."""
        notice = self._worker.notice
        with selectors.DefaultSelector() as selector:
            os.set_blocking(self._events, False)
            selector.register(self._events, selectors.EVENT_READ)
            selector.register(notice, selectors.EVENT_READ)
            while True:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return False
                wait = None if left is None else min(left, LONGEST_WAIT_SECONDS)
                ready = {key.fd for key, _ in selector.select(wait)}
                if self._events in ready and not self._read():
                    selector.unregister(self._events)
                if notice in ready and self._worker.has_ended():
                    # What a forked child may still write is not waited for.
                    self._worker.end()
                    while self._read():
                        pass
                    return True

    def _read(self) -> bool:
        """Handle what is on the pipe; return False at its end or when it is empty for now."""
        try:
            data = os.read(self._events, 1 << 20)
        except BlockingIOError:
            return False
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            self._handle(line)
        if len(self._pending) > LONGEST_EVENT:
            self._pending = b""
            self._unreadable += 1
        return bool(data)

    def _handle(self, line: bytes) -> None:
        try:
            event: Event = json.loads(line)
            if not isinstance(event["event"], str):
                raise TypeError
        except (ValueError, KeyError, TypeError):
            self._unreadable += 1
            return
        reply = self._handler(event)
        if reply is not None:
            with contextlib.suppress(BrokenPipeError):
                self._control.write(f"{reply}\n".encode())

    def _end(self, ended_by: str, first: signal.Signals, seconds: float) -> Outcome:
        """Ask the worker with a signal, wait so long for what it does about it, then end its group."""
        self._worker.send_signal(first)
        self._worker.wait(seconds)
        return Outcome(self._worker.end(), ended_by, self._unreadable)
