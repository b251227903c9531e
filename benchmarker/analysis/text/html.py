"""The terminal's tables for notebooks: the same columns as HTML, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import zip_longest

from benchmarker.analysis.comparison.compare import Comparison
from benchmarker.analysis.comparison.self_comparison import SelfComparison
from benchmarker.analysis.text.comparison import parts
from benchmarker.analysis.text.comparison_sentences import self_comparison_text
from benchmarker.analysis.text.layout import Column
from benchmarker.analysis.text.record_list import records_columns
from benchmarker.records.lookup import Record

_RIGHT, _LEFT = ' style="text-align:right"', ' style="text-align:left"'


def html_table(columns: Sequence[Column], *, caption: str = "", notes: Sequence[str] = ()) -> str:
    """Return columns as a table.

    Parameters
    ----------
    columns : sequence of Column
        All with a cell for each row.
    caption : str
        What is said of all rows.
    notes : sequence of str
        What is to be said below.
    """
    sides = [_RIGHT if column.numeric else _LEFT for column in columns]
    heads = "".join(f"<th{side}>{_text(column.title)}</th>" for side, column in zip(sides, columns))
    rows = "".join(
        f"<tr>{''.join(f'<td{side}>{_text(cell)}</td>' for side, cell in zip(sides, cells))}</tr>"
        for cells in zip_longest(*(column.cells for column in columns), fillvalue="")
    )
    top = f"<caption{_LEFT}>{_text(caption)}</caption>" if caption else ""
    below = "".join(f"<div><small>{_text(note)}</small></div>" for note in notes)
    return f"<div><table>{top}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{below}</div>"


def _text(text: str) -> str:
    return escape(" ".join(text.split()))


def records_html(records: Sequence[Record], *, caption: str, notes: Sequence[str] = ()) -> str:
    """Return the table of records, in their order."""
    return html_table(records_columns(records), caption=caption, notes=notes)


def comparison_html(comparison: Comparison, notes: Sequence[str] = ()) -> str:
    """Return the table of a comparison, with how to read it and more notes."""
    found = parts(comparison)
    return html_table(found.columns, caption=found.heading, notes=[*found.notes, *notes])


def self_comparison_html(found: SelfComparison) -> str:
    """Return the sentence of an A/A comparison."""
    return f"<div>{_text(self_comparison_text(found))}</div>"
