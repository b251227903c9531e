"""Collectives by themselves, for the terminal: what one exchanged how quickly, and a table of several."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarker.analysis.text.factors import framework_label
from benchmarker.analysis.text.layout import Column, table
from benchmarker.analysis.text.units import count, duration, size
from benchmarker.records.cells import Cell, cells
from benchmarker.records.lookup import Record, value_at

_NONE = "-"
_NOTE = (
    "Step: of the slowest rank, in the median. Algorithmic bandwidth: bytes of the whole vector over the time of a "
    "step; bus bandwidth: times 2(p-1)/p of an all-reduce, (p-1)/p of an all-gather, reduce-scatter and all-to-all (as "
    "nccl-tests and PARAM define them), so that it compares with a link's at any number of ranks."
)


def is_collective(record: Record) -> bool:
    """Return whether a record is of a collective by itself."""
    return bool(value_at(record, "distributed.collective"))


def lines(record: Record) -> Iterator[tuple[str, str]]:
    """Yield each label of a collective with its text; nothing of any other run."""
    if not is_collective(record):
        return
    yield "exchanged", _exchanged(record["distributed"])
    yield "bandwidth", _bandwidths(record["metrics"])


def _exchanged(found: Mapping[str, Any]) -> str:
    one = found["collective"]
    messages = f", {one['messages']} messages per step" if one["messages"] > 1 else ""
    return f"{one['elements']:,} elements, {size(one['bytes'])}{messages}"


def _bandwidths(metrics: Mapping[str, Any]) -> str:
    if metrics.get("algorithmic_bandwidth") is None:
        return ""
    parts = [f"algorithmic {rate(metrics['algorithmic_bandwidth'])}", f"bus {rate(metrics['bus_bandwidth'])}"]
    one_way = metrics.get("one_way_seconds")
    return ", ".join(parts if one_way is None else [*parts, f"one way {duration(one_way, 3)}"])


def rate(bytes_per_second: float) -> str:
    """Return a bandwidth with a decimal prefix, as networks have it."""
    return count(bytes_per_second, "B/s")


def collectives_table(records: Iterable[Record], *, width: int = 80) -> str:
    """Return how quickly ranks exchanged how much, by collective, means and number of ranks.

    Parameters
    ----------
    records : iterable of dict
        Valid records; those of other problems are left out.
    width : int
        Characters a line should have at most.
    """
    rows = [cell for cell in cells(records) if is_collective(cell.first) and cell.step_seconds]
    columns = [
        Column("collective", tuple(str(cell.first["problem"]["name"]) for cell in rows), key=True),
        Column(
            "bytes", tuple(size(_of(cell, "collective")["bytes"]) for cell in rows), numeric=True, key=True
        ),
        Column("ranks", tuple(str(_of(cell, "ranks")) for cell in rows), numeric=True, key=True),
        Column("framework", tuple(_who(cell) for cell in rows), key=True),
        Column("window", _windows(rows), numeric=True, key=True),
        Column("step", tuple(map(_step, rows)), numeric=True),
        Column("one way", _metric(rows, "one_way_seconds"), numeric=True),
        Column("algorithmic", _metric(rows, "algorithmic_bandwidth"), numeric=True),
        Column("bus", _metric(rows, "bus_bandwidth"), numeric=True),
        Column("wire over formula", tuple(map(_wire, rows)), numeric=True),
    ]
    shown = [column for column in columns if any(cell != _NONE for cell in column.cells)]
    return f"{table(shown, width)}\n\n{textwrap.fill(_NOTE, width)}"


def _of(cell: Cell, member: str) -> Any:
    return cell.first["distributed"][member]


def _who(cell: Cell) -> str:
    return f"{framework_label(cell.first)}, {_of(cell, 'exchange')}"


def _windows(rows: Sequence[Cell]) -> tuple[str, ...]:
    return tuple(str(cell.first["problem"]["parameters"].get("window", _NONE)) for cell in rows)


def _step(cell: Cell) -> str:
    return _NONE if cell.step_seconds is None else duration(cell.step_seconds, 3)


def _metric(rows: Sequence[Cell], name: str) -> tuple[str, ...]:
    """Return the mean of a metric over the processes of each cell."""
    found = []
    for cell in rows:
        values = [r["metrics"].get(name) for r in cell.records]
        known = [value for value in values if value is not None]
        mean = sum(known) / len(known) if known else None
        written = duration if name.endswith("_seconds") else rate
        found.append(_NONE if mean is None else written(mean))
    return tuple(found)


def _wire(cell: Cell) -> str:
    volume = _of(cell, "volume")
    if not volume or volume["wire_bytes"] is None:
        return _NONE
    return f"{volume['wire_bytes'] / volume['expected_bytes']:.2f}"
