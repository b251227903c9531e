"""The live display: a bar for each run under way and one for all of them, drawn anew when there is news.

Nothing is drawn between two events, so that nothing of it runs beside timed steps.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from benchmarker.cli.terminal import is_coloured, is_encodable
from benchmarker.errors import printable
from benchmarker.experiment.progress_lines import ProgressLines, RunProgress, about

MIN_BAR, MAX_BAR = 10, 30
_INDENT = 2
_OF_NO_TERMINAL = ConsoleDimensions(80, 25)
_DONE, _TO_COME = "cyan", "bright_black"
_MARKS, _PLAIN_MARKS = ("━", "─"), ("#", "-")
_STATUS = {"ok": "green", "interrupted": "yellow"}
_BAD = "bold red"


class _Terminal(Console):
    """The terminal that a stream goes to, whose cursor is never hidden: a command that is killed shows it no more."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(
            file=stream,
            force_terminal=True,
            color_system="auto" if is_coloured(stream) else None,
            highlight=False,
            emoji=False,
        )
        self._stream = stream

    def fit(self) -> None:
        """Take notice of the window's size, which may change."""
        try:
            columns, lines = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            columns = 0
        # A line that fills the terminal would wrap in some.
        self.size = ConsoleDimensions(columns - 1, lines) if columns > 1 else _OF_NO_TERMINAL

    def show_cursor(self, show: bool = True) -> bool:
        return False


class LiveDisplay(ProgressLines):
    """Shows runs with bars; what has ended is a line above them.

    Parameters
    ----------
    stream : TextIO
        A terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(self._line)
        self._console = _Terminal(stream)
        self._between = ""
        self._count: tuple[float, list[str]] | None = None
        self._marks = _MARKS if is_encodable("".join(_MARKS), stream) else _PLAIN_MARKS
        self._live = Live(
            get_renderable=self._frame,
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
        )

    def close(self) -> None:
        """Leave the terminal clean."""
        with self._lock:
            self._runs.clear()
            self._between, self._count = "", None
            self._pace.total = 0
            self._live.stop()

    def count(self, done: int, total: int, parts: list[str]) -> None:
        """Show how many of something are done: a bar, and what is said of it, the most important first."""
        self._count = (done / total, parts)
        self._refresh()

    def _starting(self) -> str:
        return "starting"

    def _show(self, run: RunProgress) -> None:
        self._between = ""
        self._refresh()

    def _remark(self, text: str) -> None:
        self._between = text
        self._refresh()

    def _ended(self, head: str, status: str, rest: str) -> None:
        outcome = (status.replace("_", " "), _STATUS.get(status, _BAD))
        self._print(Text.assemble(f"{printable(head)}: ", outcome, printable(rest)))

    def _line(self, text: str) -> None:
        self._print(Text(printable(text)))

    def _print(self, line: Text) -> None:
        with self._lock:
            # The terminal wraps it, so that it is one line for whoever copies it.
            self._console.fit()
            self._console.print(line, soft_wrap=True)

    def _refresh(self) -> None:
        with self._lock:
            self._console.fit()
            self._live.start()
            self._live.refresh()

    def _frame(self) -> Group:
        return Group(*self._lines(self._console.size.width))

    def _lines(self, width: int) -> Iterator[RenderableType]:
        bar = min(MAX_BAR, max(MIN_BAR, width // 4))
        room = width - bar - _INDENT - 1
        for run in self._runs:
            yield Text(printable(run.head), style="bold", no_wrap=True, overflow="ellipsis")
            yield self._row(run.share, fitting(run.parts, room), bar)
        if self._between:
            yield Text(printable(self._between), no_wrap=True, overflow="ellipsis")
        if self._count:
            share, parts = self._count
            yield self._row(share, fitting(parts, room), bar)
        if self._pace.total > 1:
            left = self._pace.seconds_left
            parts = [f"{self._pace.done} of {self._pace.total} runs done"]
            parts += [] if left is None else [f"about {about(left)} left"]
            yield self._row(self._pace.done / self._pace.total, fitting(parts, room), bar)

    def _row(self, share: float | None, text: str, width: int) -> Table:
        """Return a bar with a text to its right; without a share an empty bar."""
        row = Table.grid(padding=(0, 1, 0, 0))
        row.add_column(width=_INDENT - 1)
        row.add_column(width=width)
        row.add_column(no_wrap=True, overflow="ellipsis")
        done = int(width * (share or 0.0))
        full, empty = self._marks
        bar = Text.assemble((full * done, _DONE), (empty * (width - done), _TO_COME))
        row.add_row("", bar, Text(text, no_wrap=True, overflow="ellipsis"))
        return row


def fitting(parts: list[str], room: int) -> str:
    """Return as many of the parts, the most important first, as there is room for; of the first at least some."""
    text = printable(parts[0])
    for part in map(printable, parts[1:]):
        if cell_len(text) + 2 + cell_len(part) > room:
            break
        text = f"{text}, {part}"
    return text
