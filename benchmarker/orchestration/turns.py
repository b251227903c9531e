"""Two workers that take turns: one at a time times a window, and the other stands still meanwhile.

What changes slowly in the machine falls on neighbouring windows alike, so that their ratio is free of it (duet
benchmarking: Bulej et al., ICPE 2020).
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from benchmarker.api.launcher import Event, Handler
from benchmarker.machine.procfs.processes import descendants, processes
from benchmarker.orchestration.collector_session import CollectorSession

SIDES = 2
WINDOWS = 10
"""Of each side; even, so that each is as often the first of two neighbours as the second."""
WINDOW_SECONDS = 0.2


class Turns:
    """Whose turn it is: sides come one after the other, in an order that is reversed with each window.

    Parameters
    ----------
    sides : int
        How many take part.
    windows : int, optional
        Of each; :data:`WINDOWS` without it.
    """

    def __init__(self, sides: int = SIDES, windows: int | None = None) -> None:
        self._changed = threading.Condition()
        self._awaited = set(range(sides))
        """Those that have neither reached their timed part nor left."""
        self._order = [
            side for number in range(windows or WINDOWS) for side in range(sides)[:: -1 if number % 2 else 1]
        ]

    def wait(self, side: int) -> bool:
        """Return True when it is the side's turn, and False when it has had all of them."""
        with self._changed:
            self._awaited.discard(side)
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._awaited and self._order[:1] in ([side], []))
            return bool(self._order)

    def is_next(self, side: int) -> bool:
        """Tell whether it is the side's turn now."""
        with self._changed:
            return not self._awaited and self._order[:1] == [side]

    def end(self, side: int) -> bool:
        """End the side's turn; return whether it has another."""
        with self._changed:
            if self._order[:1] == [side]:
                del self._order[0]
            self._changed.notify_all()
            return side in self._order

    def leave(self, side: int) -> None:
        """Leave the remaining turns to the others."""
        with self._changed:
            self._awaited.discard(side)
            self._order = [other for other in self._order if other != side]
            self._changed.notify_all()


class Seat:
    """One side's place among those that take turns: stops its worker, and lets it go on.

    Parameters
    ----------
    turns : Turns
        Shared by all sides.
    side : int
        Which one.

    Attributes
    ----------
    side : int
        The same.
    """

    def __init__(self, turns: Turns, side: int) -> None:
        self._turns = turns
        self.side = side
        self._process: int | None = None

    def handler(self, inner: Handler) -> Handler:
        """Return a handler that answers what concerns turns itself, and leaves all else to another."""

        def handle(event: Event) -> str | None:
            answer = inner(event)
            if event["event"] == "ready":
                self._process = _own(event["pid"])
                return self._next()
            if event["event"] == "window_ended":
                has_more = self._turns.end(self.side)
                # What comes after the last window would disturb those of the others.
                self._next()
                return "go" if has_more else "stop"
            return answer

        return handle

    def leave(self) -> None:
        """Leave the remaining turns to the others."""
        self._turns.leave(self.side)

    def _next(self) -> str:
        """Have the worker stand still until it is its turn."""
        if not self._turns.is_next(self.side):
            self._signal(signal.SIGSTOP)
            try:
                self._turns.wait(self.side)
            finally:
                self._signal(signal.SIGCONT)
        return "go"

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process, number)


def _own(process: int) -> int | None:
    """Return the process group of a worker of ours; None for a number that is another's, which nothing stops."""
    with contextlib.suppress(OSError):
        if os.getpgid(process) == process and process in descendants(processes(), os.getpid()):
            return process
    return None


class UnwatchedSession(CollectorSession):
    """Collectors of a run that takes turns: none watches it, since the other side is at work meanwhile too."""

    def timing_begins(self, pid: int) -> None:
        """Watch nothing."""

    def timing_ends(self) -> None:
        """End nothing."""

    def untimed_pass_begins(self, pid: int) -> bool:
        """Leave the pass out."""
        return False


Result = TypeVar("Result")


def take_turns(calls: Sequence[Callable[[Seat], Result]]) -> list[Result]:
    """Return what calls return that run at the same time, and of which each has a seat."""
    turns = Turns(len(calls))

    def seated(side: int) -> Result:
        seat = Seat(turns, side)
        try:
            return calls[side](seat)
        finally:
            seat.leave()

    return side_by_side([functools.partial(seated, side) for side in range(len(calls))])


def side_by_side(calls: Sequence[Callable[[], Result]]) -> list[Result]:
    """Return what calls return that run at the same time, the first in this thread, where an interrupt arrives.

    Raises
    ------
    BaseException
        What the first of them raised that did, once all have ended.
    """
    # Imported here, with logging, which no other run needs.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(calls), thread_name_prefix="side") as pool:
        others = [pool.submit(call) for call in calls[1:]]
        first = calls[0]()
        return [first, *(other.result() for other in others)]
