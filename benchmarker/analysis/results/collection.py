"""Records in hand: a list that knows its files, can be filtered and becomes a flat table."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from benchmarker.analysis.results.columns import is_always_null
from benchmarker.analysis.results.filters import column, look_up, select
from benchmarker.analysis.results.scanning import is_installed, read_newest, scan
from benchmarker.analysis.results.table import Table
from benchmarker.api.given_values import possible_paths
from benchmarker.errors import BenchmarkerError, StoreError, missing_package
from benchmarker.records.files import OnProgress
from benchmarker.records.reading import DamagedError
from benchmarker.records.remote.opening import open_place
from benchmarker.records.schema import Record
from benchmarker.records.store import DEFAULT_FOLDER

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_KEPT = 128
"""Records that stay in memory; one takes about a megabyte."""
_SHOWN = 20
"""Records that a notebook shows."""


class Results(Sequence[Record]):
    """Records in the order of their files' names; a list that does not change.

    A record is read when it is asked for, in the shape of the newest schema version, whatever version it was
    written in: it has every member, which is None where the older version did not know. Filters and tables
    need no record to be read.

    Attributes
    ----------
    paths : tuple of Path
        The file of each record, in the same order.
    damaged : mapping of Path to str
        Files that could not be read, and why.
    """

    def __init__(
        self, files: Sequence[str], table: Table, damaged: Mapping[Path, str], *, follow: bool = False
    ) -> None:
        self.damaged = damaged
        self._files = files
        self._table = table
        self._follow = follow
        self._read = functools.lru_cache(_KEPT)(self._read_record)

    @functools.cached_property
    def paths(self) -> tuple[Path, ...]:
        """The file of each record, in the same order."""
        return tuple(map(Path, self._files))

    def __len__(self) -> int:
        return len(self._files)

    @overload
    def __getitem__(self, index: int) -> Record: ...

    @overload
    def __getitem__(self, index: slice) -> Results: ...

    def __getitem__(self, index: int | slice) -> Record | Results:
        if isinstance(index, slice):
            return self._take(range(len(self))[index])
        return self._read(self._files[index])

    def __repr__(self) -> str:
        return f"<{len(self)} records, {len(self.damaged)} damaged files>"

    def _repr_html_(self) -> str:
        """Return the first records as a table for a notebook."""
        from benchmarker.analysis.text.html import records_html

        return records_html(self[:_SHOWN], caption=repr(self)[1:-1], notes=self._notes())

    def _notes(self) -> list[str]:
        skipped = len(self) - _SHOWN
        return [f"{skipped:,} more are not shown."] if skipped > 0 else []

    def filter(self, /, **filters: Any) -> Results:
        """Return the records that pass filters as of :func:`benchmarker.load_results`.

        Raises
        ------
        UsageError
            If a filter names no field of a record, or no record can have such a value.
        """
        if not filters:
            return self
        return self._take(select(self._table, filters, is_always_null, self._look_up))

    @property
    def columns(self) -> tuple[str, ...]:
        """Dotted names of the fields that are columns of the table."""
        return tuple(self._table.names)

    def values(self, name: str) -> list[Any]:
        """Return the values of a field in the order of the records; None where a record has none.

        Parameters
        ----------
        name : str
            Dotted name; an object is told by its ``name`` or ``grade``.
        """
        if is_always_null(name):
            return [self._look_up(row, name) for row in range(len(self))]
        return list(column(self._table, name))

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each record and a column for each plain value.

        Columns have dotted names as in the record (``timing.step_seconds.median``), so units stay in
        them; ``path`` is the file. Texts that repeat are categories, points in time are in UTC, whole numbers
        stay whole beside missing ones. ``attrs["units"]`` and ``attrs["descriptions"]`` tell of columns by
        name. Samples, compared tensors, package lists and log tails are left out.

        Raises
        ------
        BenchmarkerError
            If pandas is not installed.
        """
        _need("pandas", "analysis")
        return self._table.to_frame(self._texts())

    def to_arrow(self) -> pa.Table:
        """Return the same table as Arrow; unit and description are in each field's metadata.

        Raises
        ------
        BenchmarkerError
            If pyarrow is not installed.
        """
        _need("pyarrow", "analysis")
        return self._table.to_arrow(self._texts())

    def to_polars(self) -> pl.DataFrame:
        """Return the same table for Polars.

        Raises
        ------
        BenchmarkerError
            If polars or pyarrow is not installed.
        """
        _need("polars", "polars")
        import polars as pl

        return pl.from_arrow(self.to_arrow())

    def samples(self) -> pd.DataFrame:
        """Return the raw samples of all records: id, sample, phase, seconds, steps, steady.

        Raises
        ------
        BenchmarkerError
            If pandas is not installed.
        StoreError
            If a record cannot be read any more.
        """
        _need("pandas", "analysis")
        from benchmarker.analysis.results.frames import samples_frame

        return samples_frame(self)

    def _take(self, rows: Sequence[int]) -> Results:
        files = [self._files[row] for row in rows]
        return Results(files, self._table.take(rows), self.damaged, follow=self._follow)

    def _look_up(self, row: int, name: str) -> Any:
        return look_up(self[row], name)

    def _read_record(self, file: str) -> Record:
        try:
            return read_newest(file, follow=self._follow)
        except DamagedError as error:
            raise StoreError(f"'{file}' {error}") from None

    def _texts(self) -> list[str]:
        # A name may hold bytes that are no text.
        return [os.fsencode(file).decode("utf-8", "backslashreplace") for file in self._files]


def collect(
    path: str | os.PathLike[str], filters: Mapping[str, Any], on_progress: OnProgress | None = None
) -> Results:
    """Return the records of a folder or file that pass filters.

    Parameters
    ----------
    path, filters
        As in :func:`benchmarker.load_results`.
    on_progress : callable, optional
        Called with the number of files that are read and of all, where many must be.

    Raises
    ------
    UsageError
        As :func:`benchmarker.load_results` says.
    """
    path = open_place(path)
    found = scan(path, on_progress)
    # The file that was named may be a link, those of a folder may not.
    everything = Results(found.paths, found.table, found.damaged, follow=not Path(path).is_dir())
    return everything.filter(**filters)


def _need(package: str, extra: str) -> None:
    if not is_installed(package):
        raise BenchmarkerError(missing_package("a table of results", package, extra))


def load_results(path: str | os.PathLike[str] = DEFAULT_FOLDER, **filters: Any) -> Results:
    """Return the records of a folder.

    Parameters
    ----------
    path : path
        A folder, or one file; or the address of a folder elsewhere, e.g. ``"s3://bucket/folder"``.
    filters
        What records must have: ``framework="pytorch"``, ``problem="resnet*"``, ``status=["ok", "failed"]``,
        ``problem__parameters__image_size=64``, ``batch_size="8..64"``, ``since="7d"``. Texts mean the same as
        in the words of a command: ``*`` and ``?`` stand for others, commas separate alternatives, ``..``
        makes a range. A list, tuple or set holds alternatives, in which a comma is a comma; a ``range`` holds
        whole numbers. The name of an object that has a ``name`` stands for it, and ``trust`` for its grade.
        Words of a command line, ``KEY!=VALUE`` too, become such filters by
        :func:`benchmarker.analysis.results.filters.parse_filters`.

    Returns
    -------
    Results
        Records are read when they are asked for. A folder of many records is indexed in the cache folder.

    Raises
    ------
    UsageError
        If there is no such file or folder, a filter names no field of a record, or no record can have such a
        value.
    """
    with possible_paths():
        return collect(path, filters)
