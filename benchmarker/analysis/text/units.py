"""Numbers for people: a unit that fits, and only digits that say something."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable

_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_DECIMAL = ("", "k", "M", "G", "T", "P", "E")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_MAX_RANGE = 1e5


def significant(value: float, digits: int = 4) -> str:
    """Return a number with so many significant digits, whole digits all kept, without an exponent."""
    if abs(value) > sys.float_info.max:
        return "inf" if value > 0 else "-inf"  # also a whole number that no float holds
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    # Rounding may carry into another digit: 9.9996 is 10.00, not 10.000.
    decimals = digits - 1 - math.floor(math.log10(abs(round(value, decimals))))
    return f"{value:,.{max(0, decimals)}f}"


def time_unit(seconds: Iterable[float]) -> tuple[float, str] | None:
    """Return one unit for all the times as (seconds, name), or ``None`` if they lie too far apart for one."""
    positive = [value for value in seconds if value > 0]
    if not positive:
        return _TIME_UNITS[0]
    if max(positive) / min(positive) > _MAX_RANGE:
        return None
    return next((unit for unit in _TIME_UNITS if min(positive) >= unit[0]), _TIME_UNITS[-1])


def duration(seconds: float, digits: int = 4) -> str:
    """Return a time with its unit, e.g. ``"51.15 ms"``."""
    scale, name = time_unit([seconds]) or _TIME_UNITS[0]
    return f"{significant(seconds / scale, digits)} {name}"


def count(value: float, unit: str) -> str:
    """Return a number with a decimal prefix, e.g. ``"8.178 GFLOP"``."""
    power = min(max(0, math.floor(math.log10(value) / 3)) if value >= 1 else 0, len(_DECIMAL) - 1)
    return f"{significant(value / 1000**power)} {_DECIMAL[power]}{unit}"


def size(byte_count: float) -> str:
    """Return a number of bytes with a binary prefix, e.g. ``"392.9 MiB"``."""
    power = 0
    while byte_count >= 1024 and power < len(_BINARY) - 1:
        byte_count, power = byte_count / 1024, power + 1
    return f"{significant(byte_count)} {_BINARY[power]}"
