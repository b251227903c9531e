"""What a flat table of records can do, and its columns with their kinds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from benchmarker.analysis.results.columns import BOOLEAN, CATEGORY, INTEGER, NUMBER, TEXT, TIME, field, place
from benchmarker.analysis.results.flattening import encodable
from benchmarker.records.timestamps import from_record

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Table(Protocol):
    """A row for each record, and a column for each plain value, by its dotted name."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns."""

    def __len__(self) -> int: ...

    def values(self, name: str) -> list[Any]:
        """Return a column's values as the records have them; None where one has not."""

    def take(self, rows: Sequence[int]) -> Table:
        """Return the table of these rows."""

    def to_arrow(self, paths: Sequence[str]) -> pa.Table:
        """Return the columns that a user sees, after a first column ``path``, with units and descriptions."""

    def to_frame(self, paths: Sequence[str]) -> pd.DataFrame:
        """Return the same for pandas."""


_MAX_INTEGER = 2**63 - 1
_INFERRED = {frozenset({int}): INTEGER, frozenset({bool}): BOOLEAN}
_FITTING = {NUMBER: {float}, BOOLEAN: {bool}}


@dataclass(frozen=True)
class Column:
    """Values of one kind.

    Parameters
    ----------
    kind : str
        One of those of :mod:`benchmarker.analysis.results.columns`.
    values : list
        As that kind wants them; None where there is none.
    """

    kind: str
    values: list[Any]


def typed(cells: Mapping[str, list[Any]]) -> dict[str, Column]:
    """Return columns with their kinds, in the order of the schema.

    A value that is not of the kind which the schema says (nobody has validated the record) becomes None; where
    the schema leaves the kind open and values are of several, all become texts.
    """
    return {name: _column(name, cells[name]) for name in ordered(cells)}


def ordered(names: Iterable[str]) -> list[str]:
    """Return names of columns in the order of the schema's groups."""
    return sorted(names, key=place)


def joint_kind(first: str, second: str) -> str:
    """Return the kind that can hold the values of both."""
    if first == second:
        return first
    return NUMBER if {first, second} == {INTEGER, NUMBER} else CATEGORY


def _column(name: str, values: list[Any]) -> Column:
    types = set(map(type, values)) - {type(None)}
    kind = field(name).kind or _kind(types, values)
    if not _fits(kind, types, values):
        convert = _CONVERSIONS[kind]
        values = [None if value is None else convert(value) for value in values]
    return Column(kind, values)


def _fits(kind: str, types: set[type], values: list[Any]) -> bool:
    """Tell whether no value must be converted."""
    if kind in (CATEGORY, TEXT):
        return types == {str} and all(map(str.isascii, filter(None, values)))
    if kind == INTEGER:
        return types == {int} and _are_small(values)
    return types == _FITTING.get(kind)


def _kind(types: set[type], values: list[Any]) -> str:
    if types == {int} and not _are_small(values):
        return NUMBER
    if types <= {int, float} and float in types:
        return NUMBER
    return _INFERRED.get(frozenset(types), CATEGORY)


def _are_small(values: list[Any]) -> bool:
    known = list(filter(None, values))
    return not known or -_MAX_INTEGER <= min(known) <= max(known) <= _MAX_INTEGER


def _integer(value: Any) -> int | None:
    fits = type(value) is int and -_MAX_INTEGER <= value <= _MAX_INTEGER
    return value if fits else None


def _number(value: Any) -> float | None:
    try:
        return float(value) if type(value) in (int, float) else None
    except OverflowError:
        return None


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(value: Any) -> str:
    return encodable(value if isinstance(value, str) else json.dumps(value))


def _time(value: Any) -> datetime | None:
    try:
        return from_record(value)
    except (AttributeError, OverflowError, ValueError):
        return None


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    INTEGER: _integer,
    NUMBER: _number,
    BOOLEAN: _boolean,
    CATEGORY: _text,
    TEXT: _text,
    TIME: _time,
}
