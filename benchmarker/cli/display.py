"""Progress on standard error: one line that rewrites itself on a terminal, a line per stage elsewhere."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from benchmarker.experiment.progress_lines import ProgressLines


class Display(ProgressLines):
    """Shows what runs, how far it is and how long it still takes."""

    def __init__(self, stream: TextIO, *, interactive: bool) -> None:
        super().__init__(self._line)
        self._stream = stream
        self._interactive = interactive

    def close(self) -> None:
        """Leave the terminal clean."""
        if self._interactive:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _show(self, what: str) -> None:
        if not self._interactive:
            super()._show(what)
            return
        self._stream.write("\r\x1b[K" + f"{self._head}: {what}"[: self._width()])
        self._stream.flush()

    def _width(self) -> int:
        """Return how much fits on a line: one that wraps could not be rewritten."""
        try:
            return (os.get_terminal_size(self._stream.fileno()).columns or 80) - 1
        except OSError:
            return 79

    def _line(self, text: str) -> None:
        self._stream.write(("\r\x1b[K" if self._interactive else "") + text + "\n")
        self._stream.flush()


class _Silent(Display):
    """Shows nothing."""

    def _show(self, what: str) -> None:
        pass

    def _line(self, text: str) -> None:
        pass


def make_display(*, quiet: bool) -> Display:
    """Return the display for this standard error."""
    if quiet:
        return _Silent(sys.stderr, interactive=False)
    return Display(sys.stderr, interactive=sys.stderr.isatty() and os.environ.get("TERM") != "dumb")
