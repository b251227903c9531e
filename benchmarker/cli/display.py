"""Progress on standard error: a live display on a terminal, a line per stage elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO, Union

from benchmarker.cli.terminal import is_interactive
from benchmarker.experiment.progress_lines import ProgressLines

if TYPE_CHECKING:
    from benchmarker.cli.live import LiveDisplay


class PlainDisplay(ProgressLines):
    """Writes a line per stage, or nothing."""

    def __init__(self, stream: TextIO, *, quiet: bool) -> None:
        super().__init__(self._line)
        self._stream = stream
        self._quiet = quiet

    def close(self) -> None:
        """Leave the stream as it is."""

    def _line(self, text: str) -> None:
        if not self._quiet:
            self._stream.write(text + "\n")
            self._stream.flush()


Display = Union[PlainDisplay, "LiveDisplay"]


def make_display(*, quiet: bool) -> Display:
    """Return the display for this standard error."""
    if quiet or not is_interactive(sys.stderr):
        return PlainDisplay(sys.stderr, quiet=quiet)
    from benchmarker.cli.live import LiveDisplay

    return LiveDisplay(sys.stderr)
