"""How far something is, on standard error, where it takes more than two seconds: a bar on a terminal, else lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from benchmarker.cli.terminal import is_interactive, tell

if TYPE_CHECKING:
    from benchmarker.cli.live import LiveDisplay

SECONDS = 2.0
"""Before something is shown, and between two lines."""
_SECONDS_BETWEEN_FRAMES = 0.1

_Item = TypeVar("_Item")
_displays: list[LiveDisplay] = []
"""What is on the terminal now."""


def clear() -> None:
    """Leave the terminal clean, also where counting ended early."""
    while _displays:
        _displays.pop().close()


class Count:
    """Tells how many of something are done.

    Parameters
    ----------
    total : int
        How many there are.
    what : str
        What is done with what, e.g. ``"records checked"``.
    """

    def __init__(self, total: int, what: str) -> None:
        self._total, self._what = total, what
        self._began = self._last = time.monotonic()
        self._display: LiveDisplay | None = None

    def __call__(self, done: int) -> None:
        """Take notice that so many are done."""
        if done >= self._total:
            clear()
            return
        now = time.monotonic()
        between = SECONDS if self._display is None else _SECONDS_BETWEEN_FRAMES
        if now - self._last <= between:
            return
        self._last = now
        counted = f"{done:,} of {self._total:,} {self._what}"
        if not is_interactive(sys.stderr):
            tell(counted)
            return
        self._show(done, counted, now)

    def _show(self, done: int, counted: str, now: float) -> None:
        from benchmarker.experiment.progress_lines import about

        if self._display is None:
            from benchmarker.cli.live import LiveDisplay

            clear()
            self._display = LiveDisplay(sys.stderr)
            _displays.append(self._display)
        left = [f"about {about((self._total - done) * (now - self._began) / done)} left"] if done else []
        self._display.count(done, self._total, [counted, *left])


def reading(*, quiet: bool) -> Callable[[int, int], None] | None:
    """Return what tells how many records of a folder are read, of a total that is known with the first of them.

    Parameters
    ----------
    quiet : bool
        Whether nothing is to be told, as where standard error is no terminal.
    """
    return None if quiet or not sys.stderr.isatty() else telling("records read")


def telling(what: str) -> Callable[[int, int], None]:
    """Return what tells how many of something are done, of a total that is known with the first of them."""
    counts: dict[int, Count] = {}
    return lambda done, total: counts.setdefault(total, Count(total, what))(done)


def taking(items: Iterable[_Item], total: int, what: str, *, quiet: bool) -> Iterator[_Item]:
    """Yield the items, and tell how many have been taken where standard error is a terminal."""
    return iter(items) if quiet or not sys.stderr.isatty() else counted(items, total, what)


def counted(items: Iterable[_Item], total: int, what: str) -> Iterator[_Item]:
    """Yield the items, and tell how many have been taken."""
    count = Count(total, what)
    try:
        for done, item in enumerate(items):
            count(done)
            yield item
    finally:
        count(total)
