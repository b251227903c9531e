"""Records in an order: by when they started, or by any field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarker.errors import UsageError, did_you_mean
from benchmarker.results.collection import Results
from benchmarker.results.fields import STANDS_FOR
from benchmarker.schema import load_schema


def field_at(record: Mapping[str, Any], name: str) -> Any:
    """Return the value at a dotted name; an object that has a name or a grade is told by it."""
    value: Any = record
    for part in name.split("."):
        if isinstance(value, list) and part.isdecimal():
            value = value[int(part)] if int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, Mapping):
        return next((value[member] for member in STANDS_FOR if member in value), value)
    return value


def check_columns(names: list[str]) -> None:
    """Raise ``UsageError`` if a dotted name does not begin with a field of a record."""
    known = load_schema()["properties"]
    for name in names:
        first = name.partition(".")[0]
        if first not in known:
            raise UsageError(
                f"a column must be the dotted name of a field of a record, got '{name}'{did_you_mean(first, known)}"
            )


def ordered(results: Results, by: str = "started_at", *, falling: bool = True) -> list[int]:
    """Return the positions of records in the order of a field; those that lack it come last.

    Parameters
    ----------
    results : Results
        The records.
    by : str
        Dotted name of a field.
    falling : bool
        Whether the largest, or newest, comes first.
    """
    values = results.values(by)
    known = [index for index, value in enumerate(values) if value is not None]
    known.sort(key=lambda index: _key(values[index]), reverse=falling)
    return known + [index for index, value in enumerate(values) if value is None]


def _key(value: Any) -> tuple[bool, float, str]:
    """Return what sorts numbers by size, before texts by letters."""
    if isinstance(value, (bool, int, float)):
        return False, float(value), ""
    return True, 0.0, str(value)
