"""Columns of text: aligned, and narrow enough by wrapping words, never by cutting a number."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

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
    """

    title: str
    cells: tuple[str, ...]
    numeric: bool = False

    @property
    def width(self) -> int:
        """Width that needs no wrapping."""
        return _longest((self.title, *self.cells))

    @property
    def least_width(self) -> int:
        """Width that breaks no word and no number."""
        if self.numeric:
            return _longest((*self.title.split(), *self.cells))
        words = (word for text in (self.title, *self.cells) for word in text.split())
        return _longest(tuple(words))

    @property
    def wrapped_title_width(self) -> int:
        """Width that wraps nothing but the heading."""
        return _longest((*self.title.split(), *self.cells))


def _longest(texts: Sequence[str]) -> int:
    return max(map(len, texts), default=0)


def align_points(numbers: Sequence[str]) -> tuple[str, ...]:
    """Pad numbers on the right so that their decimal points stand below each other when aligned right."""
    after = [len(number) - number.rindex(".") if "." in number else 0 for number in numbers]
    return tuple(number + " " * (max(after) - n) if number else "" for number, n in zip(numbers, after))


def table(columns: Sequence[Column], width: int) -> str:
    """Return the table with a heading and a rule below it.

    To fit ``width``, headings are wrapped first, then texts, the widest column first, until the table
    fits or none can be narrower.
    """
    widths = _fit(columns, width)
    lines = _row([column.title for column in columns], columns, widths, heading=True)
    lines.append(GAP.join("-" * w for w in widths))
    for cells in zip(*(column.cells for column in columns)):
        lines += _row(cells, columns, widths)
    return "\n".join(lines)


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


def _row(
    cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int], *, heading: bool = False
) -> list[str]:
    blocks = [
        [cell] if column.numeric and not heading else _wrapped(cell, width)
        for cell, column, width in zip(cells, columns, widths)
    ]
    height = max(map(len, blocks))
    aligned = [
        [
            line.rjust(width) if column.numeric else line.ljust(width)
            for line in block + [""] * (height - len(block))
        ]
        for block, column, width in zip(blocks, columns, widths)
    ]
    return [GAP.join(parts).rstrip() for parts in zip(*aligned)]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
