"""What more CPU threads are worth: speed-up over the fewest, beside the ideal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarker.plots.caption import caption, intervals
from benchmarker.plots.chart import Axis, Chart, Panel, Series
from benchmarker.plots.gathering import Gathered, Record, gather, keep, largest_group
from benchmarker.plots.naming import framework_of, names, work_in_common
from benchmarker.plots.quantity import Row, Value, axis_of, row_of, series, unit_of
from benchmarker.plots.scaling import plain
from benchmarker.report.asked import value_at
from benchmarker.report.cells import Cell
from benchmarker.statistics import paired_ratio

_PAIRED = (
    "Intervals of the speed-up: 95 %, Student's t over rounds in which both numbers of threads ran; none where "
    "there are fewer than 3."
)


def chart(records: Sequence[Record]) -> Chart:
    """Return speed-up and throughput against threads, of the problem with the most numbers of threads.

    The speed-up is the step time with the fewest threads over the step time with more, of one framework.

    Parameters
    ----------
    records : sequence of dict
        Any; other problems, and devices other than CPUs, are left out.

    Raises
    ------
    UsageError
        If no run on a CPU ended well.
    """
    needs = "runs on a CPU that ended well, with several numbers of threads"
    on_cpu = gather(records, needs, lambda record: record["device"]["type"] == "cpu", "on other devices")
    known = keep(on_cpu, lambda cell: _threads(cell) > 0, "of an unknown number of threads")
    gathered = largest_group(known, lambda cell: cell.work, _threads, "of other problems, modes or sizes")
    cells = gathered.cells
    labels = names(cells, [_threads(cell) for cell in cells])
    work = cells[0].first["problem"]["name"]
    return Chart(
        kind="threads",
        title=f"{work} by CPU threads: {work_in_common(cells)}",
        caption=caption(gathered, _PAIRED, intervals(cells).replace("Intervals", "Of the throughput")),
        panels=(_speedup(gathered, labels), _throughput(cells, labels)),
    )


def _speedup(gathered: Gathered, labels: Sequence[str]) -> Panel:
    cells = gathered.cells
    baselines: dict[str, Cell] = {}
    for cell, name in sorted(zip(cells, labels), key=lambda pair: _threads(pair[0])):
        baselines.setdefault(name, cell)
    rows = [
        Row(name, framework_of(cell), _threads(cell), _ratio(baselines[name], cell))
        for cell, name in zip(cells, labels)
    ]
    counts = sorted({_threads(cell) for cell in cells})
    fewest = counts[0]
    ideal = Series(
        "ideal", "line", tuple(counts), tuple(n / fewest for n in counts), colour=_LAST, dashed=True
    )
    y = Axis(f"speed-up over {fewest} thread{'s' if fewest > 1 else ''}", "", zero=True)
    return Panel(_axis(), y, "Speed-up", (*series(rows, "line", plain("")), ideal))


_LAST = 7
"""Black, which no framework has."""


def _throughput(cells: Sequence[Cell], labels: Sequence[str]) -> Panel:
    rows = [row_of(cell, name, _threads(cell), "throughput") for cell, name in zip(cells, labels)]
    unit = unit_of([row.value for row in rows], "throughput")
    return Panel(_axis(), axis_of(unit, "throughput"), "Throughput", series(rows, "line", unit))


def _axis() -> Axis:
    return Axis("CPU threads", "", scale="log2")


def _threads(cell: Cell) -> int:
    return int(cell.first["execution"]["threads"] or 0)


def _ratio(baseline: Cell, cell: Cell) -> Value:
    """Return the speed-up with its interval, where both cells ran in the same rounds."""
    ratio = (baseline.step_seconds or 0.0) / (cell.step_seconds or 1.0)
    before, after = _by_round(baseline), _by_round(cell)
    rounds = [key for key in before if key in after]
    if cell is baseline or not rounds:
        return Value(ratio)
    found = paired_ratio([before[key] for key in rounds], [after[key] for key in rounds])
    return Value(found.centre, *found.ci95) if found.ci95 else Value(ratio)


def _by_round(cell: Cell) -> Mapping[tuple[str, int], float]:
    """Return the median steps of a cell by campaign and round."""
    return {
        (campaign, value_at(record, "replication.round")): record["timing"]["step_seconds"]["median"]
        for record in cell.well
        if (campaign := value_at(record, "replication.campaign"))
    }
