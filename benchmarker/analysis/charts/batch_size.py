"""How throughput and latency grow with the mini-batch."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.analysis.charts.caption import caption, intervals
from benchmarker.analysis.charts.labels import names, short
from benchmarker.analysis.charts.quantities import METRICS, Metric, row_of, series
from benchmarker.analysis.charts.selection import few_series, gather, largest_group
from benchmarker.api.chart import Axis, Chart, Panel
from benchmarker.errors import UsageError
from benchmarker.records.cells import Cell
from benchmarker.records.keys import scaling_key
from benchmarker.records.lookup import Record


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
    gathered = few_series(
        largest_group(ended, _problem, _batch_size, "of other problems or modes"),
        _labels,
    )
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
    unit = METRICS[metric].unit(rows, log=log)
    x = Axis("batch size", "samples", scale="log2")
    return Panel(x, METRICS[metric].axis(unit, log=log), title, series(rows, "line", unit))


def _batch_size(cell: Cell) -> int:
    return int(cell.first["batch_size"])


def _problem(cell: Cell) -> str:
    return scaling_key(cell.first)
