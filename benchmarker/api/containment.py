"""Calling a plug-in's code so that it neither prints into what a command prints, nor ends it, nor keeps it for ever."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from typing import ContextManager, NoReturn, Optional

from benchmarker.errors import first_line

LOAD_SECONDS = 20.0
"""For what a plug-in imports and tells of itself, which is to be light."""
BUILD_SECONDS = 60.0
"""For building a graph."""
_ALARMS = 3
"""So often is code interrupted that catches everything, at most a second apart; then the process ends."""


class _Exit(BaseException):
    """The code wanted to end the process at once."""


class _Overdue(BaseException):
    """Its time is over."""


@contextmanager
def contained(who: str, seconds: Optional[float] = LOAD_SECONDS) -> Iterator[None]:
    """Run code that is not ours: what it prints goes to standard error, and it can neither exit nor go on for ever.

    What ends the process from C (a crash, a signal) cannot be held, and time is only measured in the main thread.

    Parameters
    ----------
    who : str
        Whose code it is, for the case that nothing stops it.
    seconds : float or None
        How long it may take; None for as long as it likes.

    Raises
    ------
    TimeoutError
        If it takes longer.
    SystemExit
        If it exits, also by ``os._exit`` and ``os.abort``.
    RuntimeError
        In place of an exception that is neither an ``Exception`` nor an interruption.
    """
    try:
        with _output_elsewhere(), _without_exit(), _limited(who, seconds):
            yield
    except _Exit as error:
        raise SystemExit(str(error)) from None
    except _Overdue:
        raise TimeoutError(f"it did not end within {seconds:g} s") from None
    except (Exception, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise RuntimeError(first_line(error)) from error


class _Together:
    """What holds for the whole process: entered by the first of several threads, left by the last.

    If each left what it had entered, whoever came second would put back what the first had put in place.
    """

    def __init__(self, make: Callable[[], ContextManager[None]]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._inside = 0
        self._entered = ExitStack()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                self._entered.enter_context(self._make())
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._entered.close()


@contextmanager
def _redirected() -> Iterator[None]:
    with redirect_stdout(sys.stderr):
        try:
            if sys.__stdout__ is not None:
                sys.__stdout__.flush()
            kept = os.dup(1)
        except (OSError, ValueError):  # closed
            yield
            return
        try:
            _point(1, 2)
            yield
        finally:
            _point(1, kept)
            os.close(kept)


def _point(descriptor: int, to: int) -> None:
    with suppress(OSError):  # closed, so nothing can be printed there
        os.dup2(to, descriptor)


@contextmanager
def _exits_caught() -> Iterator[None]:
    process, kept = os.getpid(), (os._exit, os.abort)

    def exit_at_once(status: int = 0) -> NoReturn:
        if os.getpid() != process:
            kept[0](status)  # a process that it forked may end
        raise _Exit(f"os._exit({status})")

    def abort() -> NoReturn:
        if os.getpid() != process:
            kept[1]()
        raise _Exit("os.abort()")

    os._exit, os.abort = exit_at_once, abort
    try:
        yield
    finally:
        os._exit, os.abort = kept


_output_elsewhere = _Together(_redirected)
_without_exit = _Together(_exits_caught)


@contextmanager
def _limited(who: str, seconds: Optional[float]) -> Iterator[None]:
    in_main = threading.current_thread() is threading.main_thread()
    if seconds is None or not in_main or not hasattr(signal, "setitimer"):
        yield
        return
    alarms, over = 0, False

    def ring(*_: object) -> None:
        nonlocal alarms
        alarms += 1
        if over:
            return
        if alarms > _ALARMS:
            os.write(
                2, f"benchmarker: {who} did not end within {seconds:g} s, and cannot be stopped\n".encode()
            )
            _end(2)
        raise _Overdue

    before, started = signal.signal(signal.SIGALRM, ring), time.monotonic()
    delay, interval = signal.setitimer(signal.ITIMER_REAL, seconds, min(seconds, 1.0))
    try:
        yield
    finally:
        over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before if before is not None else signal.SIG_DFL)
        if delay:
            left = max(delay - (time.monotonic() - started), 1e-3)
            signal.setitimer(signal.ITIMER_REAL, left, interval)


_end: Callable[[int], NoReturn] = os._exit
