"""A table of records, one per row: what ran when, its number and how far to believe it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from benchmarker.analysis.text.factors import framework_label
from benchmarker.analysis.text.layout import Column, align_points, table
from benchmarker.analysis.text.units import duration
from benchmarker.errors import printable
from benchmarker.records.lookup import Record
from benchmarker.records.schema.faults import is_number

_NONE = "-"
_ID_LENGTH = 8


def records_table(records: Sequence[Record], *, width: int = 80) -> str:
    """Return the table of records, in their order."""
    return table(records_columns(records), width)


def records_columns(records: Sequence[Record]) -> list[Column]:
    return [
        Column("started (UTC)", tuple(record["started_at"][:16].replace("T", " ") for record in records)),
        Column("framework", _texts(framework_label(record) for record in records), breaks="+"),
        Column("problem, mode", _texts(map(_work, records)), breaks="_"),
        Column("batch", tuple(str(record["batch_size"]) for record in records), numeric=True),
        Column("median step, 95 %", tuple(map(_step, records))),
        Column("trust or status", tuple(map(_outcome, records))),
        Column("id", _texts(record["id"][-_ID_LENGTH:] for record in records), key=True),
    ]


def _work(record: Record) -> str:
    return f"{record['problem']['name']} {record['mode']}"


def _step(record: Record) -> str:
    step = record["timing"]["step_seconds"]
    if step is None:
        return _NONE
    if not step["ci95"] or not step["median"]:
        return duration(step["median"])
    low, high = step["ci95"]
    return f"{duration(step['median'])} ±{_percent((high - low) / 2 / step['median'])}"


def _percent(share: float) -> str:
    """Return a share with two significant digits, and never as a power of ten."""
    percent = float(f"{100 * share:.2g}")
    return f"{percent:.0f}%" if percent >= 10 else f"{percent:.2g}%"


def _outcome(record: Record) -> str:
    """Return how far a number can be trusted, or why there is none."""
    if record["status"] != "ok":
        return str(record["status"]).replace("_", " ")
    return record["trust"]["grade"] if record["trust"] else _NONE


def values_table(names: Sequence[str], rows: Sequence[Sequence[Any]], *, width: int = 80) -> str:
    """Return a table of plain values.

    Parameters
    ----------
    names : sequence of str
        The columns.
    rows : sequence of sequences
        Values as JSON has them.
    width : int
        Characters a line should have at most.
    """
    return table(values_columns(names, rows), width)


def values_columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[Column]:
    """Return the columns of a table of plain values."""
    columns = [[row[at] for row in rows] for at in range(len(names))]
    # Where the table must be split, what names the rows is repeated.
    keys = [at == 0 and _names_rows(values) for at, values in enumerate(columns)]
    return [_column(name, values, key) for name, values, key in zip(names, columns, keys)]


def plain_columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[Column]:
    """Return columns for programs: numbers whole, and nothing where there is none."""
    cells = [tuple(_plain(row[at]) for row in rows) for at in range(len(names))]
    return [Column(name, texts) for name, texts in zip(names, cells)]


def _plain(value: Any) -> str:
    if value is None:
        return ""
    return _line(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _names_rows(values: Sequence[Any]) -> bool:
    return all(isinstance(value, str) for value in values) and len(set(values)) == len(values)


def _column(name: str, values: Sequence[Any], key: bool) -> Column:
    numeric = any(map(is_number, values)) and all(value is None or is_number(value) for value in values)
    texts = tuple(_shown(value) for value in values)
    if numeric:
        texts = align_points([_NONE if text == _NONE else text for text in texts])
    # Names are never broken: they are there to be copied.
    return Column(_line(name), texts, numeric=numeric, key=key)


def _shown(value: Any) -> str:
    if value is None:
        return _NONE
    if isinstance(value, float):
        return f"{value:.6g}"
    return _line(value) if isinstance(value, str) else _line(json.dumps(value, ensure_ascii=False))


def _texts(texts: Any) -> tuple[str, ...]:
    return tuple(map(_line, texts))


def _line(text: str) -> str:
    """Return a text of a record as it may stand in a terminal: no control characters, no second line."""
    return printable(" ".join(text.split()))
