"""How far something is, on standard error, where it takes more than two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

SECONDS = 2
"""Between two lines."""

_Item = TypeVar("_Item")


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
        self._last = time.monotonic()

    def __call__(self, done: int) -> None:
        """Take notice that so many are done."""
        if done < self._total and time.monotonic() - self._last > SECONDS:
            self._last = time.monotonic()
            print(f"benchmarker: {done:,} of {self._total:,} {self._what}", file=sys.stderr)


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
    for done, item in enumerate(items):
        count(done)
        yield item
