"""Where an operator differs from float64: its output as a matrix, a panel for each framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker.analysis.charts.caption import caption
from benchmarker.analysis.charts.labels import framework_of, names, short, title_of
from benchmarker.analysis.charts.selection import Selection, first_groups, gather, keep, largest_group
from benchmarker.api.chart import Axis, Chart, Heat, Panel
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import Record, value_at
from benchmarker.worker.verification.tolerances import EPSILON

MAX_PANELS = 6
_LABEL = "largest difference in units of roundoff"


def chart(records: Sequence[Record]) -> Chart:
    """Return a heat map of the differences of an output for each framework, of the problem that most ran.

    Parameters
    ----------
    records : sequence of dict
        Any; those of no operator, or not verified, are left out.

    Raises
    ------
    UsageError
        If no run of an operator was verified.
    """
    needs = "runs of an operator that were verified"
    found = gather(records, needs, _map, "of no operator or not verified", timed=False)
    gathered = _few(found)
    cells, labels = gathered.cells, names(gathered.cells, timed=False)
    tensor = _output(cells[0].first)
    most = max(value for cell in cells for row in _in_roundoff(cell) for value in row if value is not None)
    problem = short(cells[0].first["problem"]["name"])
    return Chart(
        kind="differences",
        title=title_of(f"Differences of {problem} from float64", cells),
        caption=caption(
            gathered,
            f"Output '{short(tensor['name'])}', {_sizes(tensor)}; each cell shows the largest difference of those "
            f"of its elements that were compared, {tensor['errors']['compared']:,} in all. A unit of roundoff is "
            f"{EPSILON[cells[0].first['precision']]:.2g} of the largest expected value.",
        ),
        panels=tuple(_panel(cell, label, most) for cell, label in zip(cells, labels)),
    )


def _few(found: Selection) -> Selection:
    """Keep one problem, mode and precision, and as many frameworks as panels."""
    several = largest_group(
        found,
        lambda cell: (cell.work, cell.first["precision"]),
        framework_of,
        "of other problems, modes or sizes",
    )
    whole = keep(several, lambda cell: _map(cell.first) is not None, "not verified")
    return first_groups(whole, lambda cell: id(cell), MAX_PANELS, "of further frameworks")


def _output(record: Record) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(t for t in record["operator"]["tensors"] if t["difference_map"])
    return found


def _map(record: Record) -> Mapping[str, Any] | None:
    """Return the first map of a record whose numbers are known."""
    if not value_at(record, "operator"):
        return None
    maps = (tensor["difference_map"] for tensor in record["operator"]["tensors"] if tensor["difference_map"])
    known = (found for found in maps if any(v is not None for row in found["cells"] for v in row))
    return next(known, None)


def _sizes(tensor: Mapping[str, Any]) -> str:
    found = tensor["difference_map"]
    return f"{found['rows']:,} rows of {found['columns']:,}"


def _in_roundoff(cell: Cell) -> list[list[float | None]]:
    unit = EPSILON[cell.first["precision"]]
    cells = _output(cell.first)["difference_map"]["cells"]
    return [[None if value is None else value / unit for value in row] for row in cells]


def _panel(cell: Cell, label: str, most: float) -> Panel:
    found, values = _output(cell.first)["difference_map"], _in_roundoff(cell)
    rows, columns = _starts(found["rows"], len(values)), _starts(found["columns"], len(values[0]))
    heat = Heat(
        rows,
        columns,
        tuple(map(tuple, values)),
        tuple(tuple("" for _ in row) for row in values),
        _LABEL,
        limits=(0.0, most or 1.0),
        fine=True,
    )
    return Panel(
        Axis("column", scale="category", categories=columns),
        Axis("row", scale="category", categories=rows),
        title=label,
        heat=heat,
    )


def _starts(size: int, parts: int) -> tuple[str, ...]:
    """Return the first row or column of each cell."""
    return tuple(f"{-(-place * size // parts):,}" for place in range(parts))
