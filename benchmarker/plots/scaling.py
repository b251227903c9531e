"""A unit for all the numbers of an axis."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from benchmarker.report.units import significant, time_unit

_DECIMAL = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BINARY = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


@dataclass(frozen=True)
class Unit:
    """A unit of an axis.

    Parameters
    ----------
    size : float
        In the unit of the record, e.g. 0.001 for milliseconds of a time in seconds.
    name : str
        E.g. ``"ms"``.
    """

    size: float
    name: str

    def __call__(self, value: float | None) -> float | None:
        """Return a value of the record in this unit; nothing stays nothing."""
        return None if value is None else value / self.size

    def text(self, value: float) -> str:
        """Return a value of the record for people, e.g. ``"51.15 ms"``."""
        return f"{significant(value / self.size)} {self.name}".rstrip()


def plain(name: str) -> Unit:
    """Return a unit in which numbers stay as they are."""
    return Unit(1.0, name)


def times(seconds: Iterable[float | None], *, log: bool = False) -> Unit:
    """Return a unit of time."""
    size, name = time_unit([_typical(seconds, log)]) or (1.0, "s")
    return Unit(size, name)


def counts(values: Iterable[float | None], name: str, *, log: bool = False) -> Unit:
    """Return a unit with a decimal prefix, e.g. ``GFLOP/s``."""
    typical = _typical(values, log)
    size, prefix = next((step for step in _DECIMAL if typical >= step[0]), (1.0, ""))
    return Unit(size, prefix + name)


def sizes(byte_counts: Iterable[float | None], *, log: bool = False) -> Unit:
    """Return a unit of bytes with a binary prefix, e.g. ``MiB``."""
    typical = _typical(byte_counts, log)
    return Unit(*next((step for step in _BINARY if typical >= step[0]), (1.0, "B")))


def _typical(values: Iterable[float | None], log: bool) -> float:
    """Return the largest value, or on a logarithmic axis the middle one; 1 if none is above 0."""
    positive = [value for value in values if value is not None and value > 0]
    if not positive:
        return 1.0
    return math.sqrt(min(positive) * max(positive)) if log else max(positive)
