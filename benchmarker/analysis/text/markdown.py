"""Tables and texts as Markdown in which nothing of theirs is taken for a mark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from benchmarker.analysis.text.layout import Column

_MARKS = re.compile(r"([\\`*|~])")


def escaped(text: str) -> str:
    """Return text in which Markdown and HTML find nothing of theirs, on one line."""
    return _MARKS.sub(r"\\\1", " ".join(text.split())).replace("<", "&lt;")


def markdown_table(columns: Sequence[Column]) -> str:
    """Return columns as a table, numbers aligned to the right."""
    rules = ["---:" if column.numeric else "---" for column in columns]
    rows = zip_longest(*(map(escaped, column.cells) for column in columns), fillvalue="")
    return "\n".join(map(markdown_row, [[escaped(column.title) for column in columns], rules, *rows]))


def markdown_row(cells: Iterable[str]) -> str:
    """Return a row of a table of cells in which nothing has to be escaped."""
    return f"| {' | '.join(cells)} |"
