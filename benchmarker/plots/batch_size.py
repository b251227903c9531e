"""How throughput and latency grow with the mini-batch."""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchmarker.errors import UsageError
from benchmarker.plots.caption import caption, intervals
from benchmarker.plots.chart import Axis, Chart, Panel
from benchmarker.plots.gathering import Record, gather, largest_group
from benchmarker.plots.limits import few_series
from benchmarker.plots.naming import names, short
from benchmarker.plots.quantity import Metric, axis_of, row_of, series, unit_of
from benchmarker.report.cells import Cell


def chart(records: Sequence[Record], *, log: bool = True) -> Chart:
    """Return throughput and latency against the batch size, of the problem with the most batch sizes.

    Parameters
    ----------
    records : sequence of dict
        Any; other problems are left out.
    log : bool
        Whether the values have logarithmic axes; batch sizes always have.

    Raises
    ------
    UsageError
        If no run ended well, or all are of one batch size.
    """
    ended = gather(records, "runs that ended well, of several batch sizes")
    gathered = few_series(largest_group(ended, _problem, _batch_size, "of other problems or modes"), _labels)
    cells, labels = gathered.cells, _labels(gathered.cells)
    if len(set(map(_batch_size, cells))) < 2:
        raise UsageError(
            "such a picture needs runs of one problem with several batch sizes, and all of "
            f"{short(cells[0].first['problem']['name'])} have batch size {_batch_size(cells[0]):,}"
        )
    first = cells[0].first
    metrics: tuple[tuple[Metric, str], ...] = (("throughput", "Throughput"), ("step", "Latency"))
    return Chart(
        kind="batch_size",
        title=f"{first['problem']['name']} by batch size: {first['mode']}",
        caption=caption(gathered, intervals(cells)),
        panels=tuple(_panel(cells, labels, metric, title, log) for metric, title in metrics),
    )


def _labels(cells: Sequence[Cell]) -> tuple[str, ...]:
    return names(cells, [_batch_size(cell) for cell in cells])


def _panel(cells: Sequence[Cell], labels: Sequence[str], metric: Metric, title: str, log: bool) -> Panel:
    rows = [row_of(cell, name, _batch_size(cell), metric) for cell, name in zip(cells, labels)]
    unit = unit_of([row.value for row in rows], metric, log=log)
    x = Axis("batch size", "samples", scale="log2")
    return Panel(x, axis_of(unit, metric, log=log), title, series(rows, "line", unit))


def _batch_size(cell: Cell) -> int:
    return int(cell.first["batch_size"])


def _problem(cell: Cell) -> str:
    """Return what a step computes but for the size of its mini-batch."""
    record = cell.first
    problem = record["problem"]
    return json.dumps([problem["name"], problem["parameters"], record["mode"]], sort_keys=True)
