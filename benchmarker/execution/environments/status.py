"""How far an installer is: a line for people that the next one replaces."""

from __future__ import annotations

import time

SECONDS_BETWEEN = 10.0
"""Between two of them where each stays, as in a file."""
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")


class Status(str):
    """Such a line; an empty one says that it is over. All else that is told stays."""

    __slots__ = ()


class Pacer:
    """Lets a status pass from time to time where each stays."""

    def __init__(self) -> None:
        self._next = 0.0

    def lets_pass(self, text: str) -> bool:
        """Return whether the text is to be shown now; what is no status always is."""
        if not isinstance(text, Status):
            return True
        now = time.monotonic()
        if not text or now < self._next:
            return False
        self._next = now + SECONDS_BETWEEN
        return True


def size(byte_count: float) -> str:
    """Return a number of bytes as installers write it, e.g. ``"2.9 GiB"``."""
    power = 0
    while byte_count >= 1024 and power < len(_BINARY) - 1:
        byte_count, power = byte_count / 1024, power + 1
    return f"{byte_count:.1f} {_BINARY[power]}" if power else f"{byte_count:.0f} B"


def byte_count(text: str) -> float:
    """Return the bytes of such a text."""
    number, unit = text.split()
    return float(number) * 1024.0 ** _BINARY.index(unit)
