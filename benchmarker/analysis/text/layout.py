"""Columns of text: aligned, and narrow enough by wrapping words and splitting tables, never by cutting."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from benchmarker.quick_dataclass import dataclass

GAP = "  "


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    title : str
        Its heading.
    cells : tuple of str
        One a row.
    numeric : bool
        Aligned to the right and never wrapped.
    key : bool
        Repeated in each part of a table that has to be split.
    breaks : str
        Characters after which a word may be broken, e.g. ``"_"`` in long names.
    """

    title: str
    cells: tuple[str, ...]
    numeric: bool = False
    key: bool = False
    breaks: str = ""

    @property
    def width(self) -> int:
        """Width that needs no wrapping."""
        return _longest((self.title, *self.distinct))

    @property
    def distinct(self) -> tuple[str, ...]:
        """The cells without those that are there already: a long table has few different ones in a column."""
        return tuple(dict.fromkeys(self.cells))

    @property
    def least_width(self) -> int:
        """Width that breaks no word and no number."""
        if self.numeric:
            return self.wrapped_title_width
        words = {word for text in self.distinct for word in text.split()}
        return _longest([*self.title.split(), *(piece for word in words for piece in self.pieces(word))])

    def pieces(self, word: str) -> list[str]:
        """Return the parts into which a word may be broken."""
        if not self.breaks:
            return [word]
        marks = re.escape(self.breaks)
        return re.findall(f"[^{marks}]*[{marks}]|[^{marks}]+", word)

    @property
    def wrapped_title_width(self) -> int:
        """Width that wraps nothing but the heading."""
        return _longest((*self.title.split(), *self.distinct))


def _longest(texts: Sequence[str]) -> int:
    return max(map(len, texts), default=0)


def joined(texts: Iterable[str]) -> str:
    """Return texts with commas between them; one that is empty is left out."""
    return ", ".join(filter(None, texts))


def labelled(lines: Iterable[tuple[str, str]], label_width: int, width: int) -> list[str]:
    """Return texts with a label before each, wrapped beside it; a text that is empty is left out."""
    return [
        line
        for label, text in lines
        for line in textwrap.wrap(
            text,
            width,
            initial_indent=f"  {label:<{label_width}}",
            subsequent_indent=" " * (2 + label_width),
            break_on_hyphens=False,
        )
    ]


def labelled_path(label: str, path: object, label_width: int) -> str:
    """Return a path with a label before it, not wrapped, so that it can be copied."""
    return f"  {label:<{label_width}}{path}"


def align_points(numbers: Sequence[str]) -> tuple[str, ...]:
    """Pad numbers on the right so that their decimal points stand below each other when aligned right."""
    after = [len(number) - number.rindex(".") if "." in number else 0 for number in numbers]
    return tuple(number + " " * (max(after) - n) if number else "" for number, n in zip(numbers, after))


def numeric_column(title: str, numbers: Sequence[str]) -> Column:
    """Return a column of numbers whose decimal points stand below each other."""
    return Column(title, align_points(numbers), numeric=True)


def table(columns: Sequence[Column], width: int) -> str:
    """Return the table with a heading and a rule below it.

    To fit ``width``, headings are wrapped first, then texts, the widest column first. A table that still
    does not fit is split into parts with some of the columns each, texts and numbers apart if it can be; where
    no column is a key, a number tells which rows belong together.
    """
    return "\n\n".join(_block(part, width) for part in _parts(columns, width))


def _parts(columns: Sequence[Column], width: int) -> list[list[Column]]:
    if _least(columns) <= width:
        return [list(columns)]
    keys = [column for column in columns if column.key] or [_row_numbers(len(columns[0].cells))]
    parts: list[list[Column]] = []
    for column in (column for column in columns if not column.key):
        numbers_begin = column.numeric and parts and not parts[-1][-1].numeric
        if parts and not numbers_begin and _least([*parts[-1], column]) <= width:
            parts[-1].append(column)
        else:
            parts.append([*keys, column])
    return parts


def _row_numbers(count: int) -> Column:
    return Column("row", tuple(str(index + 1) for index in range(count)), numeric=True, key=True)


def _least(columns: Sequence[Column]) -> int:
    return sum(column.least_width for column in columns) + len(GAP) * (len(columns) - 1)


def _block(columns: Sequence[Column], width: int) -> str:
    widths = _fit(columns, width)
    titles = [_aligned(_wrapped(column.title, w, column), w, column) for column, w in zip(columns, widths)]
    lines = [*_row(titles, widths), GAP.join("-" * w for w in widths)]
    for blocks in zip(*map(_blocks, columns, widths)):
        lines += _row(blocks, widths)
    return "\n".join(lines)


def _blocks(column: Column, width: int) -> list[list[str]]:
    """Return the lines of each cell."""
    lines = {
        text: _aligned([text] if column.numeric else _wrapped(text, width, column), width, column)
        for text in column.distinct
    }
    return [lines[text] for text in column.cells]


def _aligned(lines: Sequence[str], width: int, column: Column) -> list[str]:
    return [line.rjust(width) if column.numeric else line.ljust(width) for line in lines]


def _fit(columns: Sequence[Column], width: int) -> list[int]:
    widths = [column.width for column in columns]
    for least in (
        [column.wrapped_title_width for column in columns],
        [column.least_width for column in columns],
    ):
        while sum(widths) + len(GAP) * (len(widths) - 1) > width:
            wide = [i for i, _ in enumerate(columns) if widths[i] > least[i]]
            if not wide:
                break
            widths[max(wide, key=lambda i: widths[i])] -= 1
    return widths


def _row(blocks: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
    height = max(map(len, blocks))
    if height == 1:
        return [GAP.join([line for (line,) in blocks]).rstrip()]
    padded = [[*block, *[" " * w] * (height - len(block))] for block, w in zip(blocks, widths)]
    return [GAP.join(parts).rstrip() for parts in zip(*padded)]


def _wrapped(text: str, width: int, column: Column) -> list[str]:
    if len(text) <= width and text.isprintable() and text == text.strip():
        return [text]  # as wrapping it would, which takes longest of all that a table takes
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
    return [part for line in lines for part in _broken(line, width, column)]


def _broken(line: str, width: int, column: Column) -> list[str]:
    """Break a line that is one word and too long."""
    if len(line) <= width:
        return [line]
    parts = [""]
    for piece in column.pieces(line):
        if parts[-1] and len(parts[-1]) + len(piece) > width:
            parts.append("")
        parts[-1] += piece
    return parts
