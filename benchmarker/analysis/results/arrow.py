"""The flat table of records as Arrow: a hundred thousand records take a few hundred megabytes."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarker.analysis.results.columns import (
    BOOLEAN,
    CATEGORY,
    INTEGER,
    NUMBER,
    TEXT,
    TIME,
    Column,
    always,
    field,
    joint_kind,
    ordered,
)
from benchmarker.records.timestamps import as_written

if TYPE_CHECKING:
    import pandas as pd

_TYPES = {
    CATEGORY: pa.dictionary(pa.int32(), pa.string()),
    TEXT: pa.string(),
    TIME: pa.timestamp("us", tz="UTC"),
    INTEGER: pa.int64(),
    NUMBER: pa.float64(),
    BOOLEAN: pa.bool_(),
}
_KINDS = {str(kind): name for name, kind in _TYPES.items()}


def arrow_table(columns: Mapping[str, Column], length: int) -> pa.Table:
    arrays = {name: _array(column) for name, column in columns.items()}
    if not arrays:
        return pa.table({"": pa.nulls(length)}).select([])
    return pa.table(arrays)


def _array(column: Column) -> pa.Array:
    if column.kind == CATEGORY:
        return pa.array(column.values, pa.string()).dictionary_encode()
    return pa.array(column.values, _TYPES[column.kind])


def joined(tables: Iterable[pa.Table]) -> pa.Table:
    """Return tables one below the other; a column that holds numbers here and texts there holds texts."""
    tables = list(tables)
    kinds: dict[str, str] = {}
    for table in tables:
        for known in table.schema:
            kind = _KINDS[str(known.type)]
            kinds[known.name] = joint_kind(kinds.get(known.name, kind), kind)
    schema = pa.schema([(name, _TYPES[kinds[name]]) for name in ordered(kinds)])
    fitting = [_as(table, schema) for table in tables]
    return pa.concat_tables([schema.empty_table(), *fitting]).unify_dictionaries().combine_chunks()


def _as(table: pa.Table, schema: pa.Schema) -> pa.Table:
    names = set(table.column_names)
    columns = [
        _cast(table[known.name], known.type) if known.name in names else pa.nulls(len(table), known.type)
        for known in schema
    ]
    return pa.table(columns, schema=schema)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if column.type == kind:
        return column
    if pa.types.is_dictionary(kind):
        return column.cast(pa.string()).dictionary_encode()
    # A whole number beyond 2**53 may lose its last digits among fractions, as in any language.
    return column.cast(kind, safe=False)


class ArrowTable:
    """Columns of Arrow.

    Parameters
    ----------
    table : pyarrow.Table
        As :func:`arrow_table` or :func:`joined` make it.
    """

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @property
    def names(self) -> Sequence[str]:
        return tuple(self._table.column_names)

    def values(self, name: str) -> list[Any]:
        """Return a column's values as the records have them; None where one has not."""
        column = self._table[name]
        if pa.types.is_timestamp(column.type):
            return [None if moment is None else as_written(moment) for moment in column.to_pylist()]
        found: list[Any] = column.to_pylist()
        return found

    def take(self, rows: Sequence[int]) -> ArrowTable:
        return ArrowTable(self._table.take(pa.array(rows, pa.int64())))

    def to_arrow(self, paths: Sequence[str]) -> pa.Table:
        """Return the columns that a user sees, after a first column ``path``, with units and descriptions."""
        columns = {"path": pa.array(paths, pa.string())}
        if len(self):
            known = set(self.names)
            shown = {*always(), *(n for n in self.names if self._table[n].null_count < len(self))}
            for name in ordered(shown):
                columns[name] = self._table[name] if name in known else _nulls(name, len(self))
        schema = pa.schema([_described(name, column.type) for name, column in columns.items()])
        return pa.table(list(columns.values()), schema=schema)

    def to_frame(self, paths: Sequence[str]) -> pd.DataFrame:
        """Return the same for pandas."""
        from benchmarker.analysis.results.frames import array_of_arrow, frame_of

        shown = self.to_arrow(paths)
        columns = {name: array_of_arrow(shown[name]) for name in shown.column_names[1:]}
        return frame_of(columns, paths)


def _nulls(name: str, length: int) -> pa.Array:
    return pa.nulls(length, _TYPES[field(name).kind or CATEGORY])


@functools.cache
def _described(name: str, kind: pa.DataType) -> pa.Field:
    known = field(name)
    notes = {"unit": known.unit, "description": known.description}
    return pa.field(name, kind, metadata={key: text for key, text in notes.items() if text})
