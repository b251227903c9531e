"""Records in hand: a list that knows its files and becomes a flat table."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from benchmarker.errors import BenchmarkerError, UsageError, did_you_mean
from benchmarker.schema import Record, load_schema
from benchmarker.store import iter_records

if TYPE_CHECKING:
    import pandas as pd

# Too long for a cell of a table; they stay in the records.
_LEFT_OUT = {
    "timing.device_event_seconds",
    "learning.steps",
    "learning.seconds",
    "learning.losses",
    "timing.steady_state.segments",
    "trust.checkpoints",
    "monitors.utilization.columns",
    "replication.resumed",
    "verification.tensors",
    "environment.packages",
    "error.log_tail",
}
_SAMPLES = "samples_seconds"
# Objects that may be null; a column for the null itself would say nothing.
_NULLABLE = {
    "error",
    "optimizer",
    "execution.shared",
    "inputs.data",
    "timing.step_seconds",
    "timing.steady_state",
    "timing.breakdown",
    "timing.overhead",
    "learning",
    "peaks",
    "trust",
    "replication",
    "acceptance",
    "verification.worst",
}
_MISSING = object()


class Results(Sequence[Record]):
    """Records in the order of their files' names; a list that does not change.

    Attributes
    ----------
    paths : tuple of Path
        The file of each record, in the same order.
    damaged : mapping of Path to str
        Files that could not be read, and why.
    """

    def __init__(self, records: Iterable[tuple[Path, Record]], damaged: Mapping[Path, str]) -> None:
        pairs = tuple(records)
        self.paths = tuple(path for path, _ in pairs)
        self.damaged = damaged
        self._records = tuple(record for _, record in pairs)

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> Record: ...

    @overload
    def __getitem__(self, index: slice) -> Results: ...

    def __getitem__(self, index: int | slice) -> Record | Results:
        if isinstance(index, slice):
            return Results(zip(self.paths[index], self._records[index]), self.damaged)
        return self._records[index]

    def __repr__(self) -> str:
        return f"<{len(self)} records, {len(self.damaged)} damaged files>"

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each record and a column for each plain value.

        Columns have dotted names as in the record (``timing.step_seconds.median``), so units stay in
        them; ``path`` is the file. Samples, compared tensors, package lists and log tails are left out.

        Raises
        ------
        BenchmarkerError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise BenchmarkerError(
                "a table of results needs pandas, which is not installed: pip install 'benchmarker[analysis]'"
            ) from None
        rows = [{"path": str(path), **flatten(record)} for path, record in zip(self.paths, self)]
        return pd.DataFrame(rows, columns=None if rows else ["path"])


def flatten(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain values of a record by dotted name.

    An interval becomes two columns ``.low`` and ``.high``; another list of plain values one text; the
    objects of a list are numbered.
    """
    return dict(_cells(record, ""))


def _cells(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if name in _LEFT_OUT or name.endswith(_SAMPLES) or (value is None and name in _NULLABLE):
        return
    if name.endswith(".ci95"):
        low, high = value or (None, None)
        yield f"{name}.low", low
        yield f"{name}.high", high
    elif isinstance(value, Mapping):
        for key, member in value.items():
            yield from _cells(member, f"{name}.{key}" if name else key)
    elif not isinstance(value, list):
        yield name, value
    elif any(isinstance(item, (dict, list)) for item in value):
        for index, item in enumerate(value):
            yield from _cells(item, f"{name}.{index}")
    elif name == "command":
        yield name, shlex.join(value)
    else:
        yield name, ", ".join(map(str, value))


def collect(path: str | os.PathLike[str], filters: Mapping[str, Any]) -> Results:
    """Return the records of a folder or file that pass the filters of :func:`benchmarker.load_results`."""
    wanted = {name: _alternatives(value) for name, value in filters.items()}
    known = load_schema()["properties"]
    for name in wanted:
        field = name.split("__")[0]
        if field not in known:
            raise UsageError(
                f"a filter must name a field of a record, got '{field}'{did_you_mean(field, known)}"
            )
    damaged: dict[Path, str] = {}
    found = [
        (file, record)
        for file, record in iter_records(path, damaged.__setitem__)
        if all(_field(record, name) in values for name, values in wanted.items())
    ]
    return Results(found, damaged)


def _alternatives(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple, set, frozenset)) else (value,)


def _field(record: Any, name: str) -> Any:
    for part in name.split("__"):
        if not isinstance(record, Mapping) or part not in record:
            return _MISSING
        record = record[part]
    if isinstance(record, Mapping) and "name" in record:
        return record["name"]
    return record
