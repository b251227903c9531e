"""A flat table of records: what it can do, and one of lists, for few records and where pyarrow is not installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from benchmarker.analysis.results.columns import CATEGORY, TIME, Column, always, field, ordered, typed
from benchmarker.records.timestamps import as_written

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


class PlainTable:
    """Columns of lists.

    Parameters
    ----------
    columns : mapping of str to Column
        All of the same length, in their order.
    length : int
        Number of records.
    """

    def __init__(self, columns: Mapping[str, Column], length: int) -> None:
        self._columns = columns
        self._length = length

    @classmethod
    def of(cls, cells: Mapping[str, list[Any]], length: int) -> PlainTable:
        """Return the table of columns that have no kinds yet."""
        return cls(typed(cells), length)

    def __len__(self) -> int:
        return self._length

    @property
    def names(self) -> Sequence[str]:
        return tuple(self._columns)

    def values(self, name: str) -> list[Any]:
        """Return a column's values as the records have them; None where one has not."""
        column = self._columns[name]
        if column.kind == TIME:
            return [None if moment is None else as_written(moment) for moment in column.values]
        return column.values

    def take(self, rows: Sequence[int]) -> PlainTable:
        columns = {
            name: Column(column.kind, [column.values[row] for row in rows])
            for name, column in self._columns.items()
        }
        return PlainTable(columns, len(rows))

    def finished(self) -> dict[str, Column]:
        """Return the columns that a user sees: those with values, and those that every record has."""
        if not self._length:
            return {}
        found = {name: c for name, c in self._columns.items() if any(value is not None for value in c.values)}
        for name in always():
            found.setdefault(name, Column(field(name).kind or CATEGORY, [None] * self._length))
        return {name: found[name] for name in ordered(found)}

    def to_arrow(self, paths: Sequence[str]) -> pa.Table:
        """Return the same as Arrow, with a first column ``path``."""
        from benchmarker.analysis.results.arrow import ArrowTable, arrow_table

        return ArrowTable(arrow_table(self._columns, self._length)).to_arrow(paths)

    def to_frame(self, paths: Sequence[str]) -> pd.DataFrame:
        """Return the same for pandas, with a first column ``path``."""
        from benchmarker.analysis.results.frames import array_of, frame_of

        columns = {name: array_of(column) for name, column in self.finished().items()}
        return frame_of(columns, paths)
