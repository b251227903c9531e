"""What uv draws on a terminal: lines that stay, and a bar for each package that it downloads."""

from __future__ import annotations

import codecs
import os
import re
import struct
from collections.abc import Callable

from benchmarker.errors import plural
from benchmarker.execution.environments.status import Status, byte_count, size

_COLUMNS, _ROWS = 1000, 100
"""Wide enough that no message is wrapped, high enough for a bar of each package."""
_CONTROL = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_BYTES = r"(\d[\d.]* (?:[KMGT]i)?B)"
_BAR = re.compile(rf"([A-Za-z0-9][\w.-]*) +-+ *{_BYTES}/{_BYTES}")
_MAX_TEXT = 1 << 16
_NAMED = 2


def open_screen() -> tuple[int, int]:
    """Return both sides of a terminal: what is drawn is read from the first, the second is the command's.

    Raises
    ------
    OSError
        If the system has none.
    """
    try:
        import fcntl
        import termios
    except ImportError:
        raise OSError("no terminals here") from None
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    return ours, theirs


class Screen:
    """Reads what is drawn."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._bars: dict[str, tuple[float, float]] = {}

    def feed(self, data: bytes) -> list[str]:
        """Take what was drawn, and return the lines of it that stay."""
        self._text += self._decoder.decode(data)
        *whole, self._text = self._text.split("\n")
        for text in (*whole, self._text):
            self._see_bars(text)
        self._text = self._text[-_MAX_TEXT:]
        # A spinner's text stands before the return of the carriage that erases it.
        lines = (_CONTROL.sub("", text.rstrip("\r").rpartition("\r")[2]).rstrip() for text in whole)
        return [line for line in lines if line]

    def _see_bars(self, text: str) -> None:
        for name, done, whole in _BAR.findall(_CONTROL.sub(" ", text)):
            self._bars[name] = (byte_count(done), byte_count(whole))

    @property
    def summary(self) -> str:
        """What was downloaded; empty if no bar was seen."""
        whole = sum(each for _, each in self._bars.values())
        return f"downloaded {plural(len(self._bars), 'package')}, {size(whole)}" if self._bars else ""

    @property
    def status(self) -> Status:
        """How much of what is downloaded; empty before the first bar."""
        if not self._bars:
            return Status()
        done, whole = (sum(values) for values in zip(*self._bars.values()))
        left = sorted(((w, name, d) for name, (d, w) in self._bars.items() if d < w), reverse=True)
        named = ", ".join(f"{name} {size(d)} of {size(w)}" for w, name, d in left[:_NAMED])
        packages = plural(len(self._bars), "package")
        return Status(
            f"downloading {packages}: {size(done)} of {size(whole)}" + (f" ({named})" if named else "")
        )


def read_lines(descriptor: int, screen: Screen, take: Callable[[str], None]) -> None:
    """Read what is drawn to its end, and hand on each line that stays."""
    while True:
        try:
            data = os.read(descriptor, 1 << 16)
        except OSError:  # how Linux says that nobody has the other side open
            break
        if not data:
            break
        for line in screen.feed(data):
            take(line)
    os.close(descriptor)
