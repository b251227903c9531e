"""Devices side by side, and numbers of threads of one, grouped by problem."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.analysis.charts.caption import caption, intervals
from benchmarker.analysis.charts.frameworks import TITLES
from benchmarker.analysis.charts.grouped_bars import MAX_PANELS, panels
from benchmarker.analysis.charts.labels import (
    device_name,
    device_of,
    names,
    panel_titles,
    title_of,
    workload_labels,
)
from benchmarker.analysis.charts.quantities import METRICS, Metric, row_of
from benchmarker.analysis.charts.selection import few_series, gather, limit_workloads, networks
from benchmarker.api.chart import Chart
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import Record


def chart(records: Sequence[Record], *, metric: Metric = "step", log: bool | None = None) -> Chart:
    """Return devices side by side, a panel for each problem.

    Parameters
    ----------
    records : sequence of dict
        Any; those that did not end well are left out.
    metric : {"step", "throughput"}
        What is shown.
    log : bool, optional
        Points on a logarithmic axis, or bars from 0; the values decide if not given.

    Raises
    ------
    UsageError
        If no run ended well.
    """
    ended = few_series(
        networks(gather(records, "runs that ended well")), _series_names, places=("device", "threads")
    )
    gathered = limit_workloads(ended, MAX_PANELS)
    cells = gathered.cells
    devices = [device_of(cell) for cell in cells]
    rows = [row_of(c, name, device, metric) for c, name, device in zip(cells, _series_names(cells), devices)]
    return Chart(
        kind="devices",
        title=title_of(f"{TITLES[metric]} by device", cells),
        caption=caption(gathered, intervals(cells)),
        panels=panels(
            rows,
            panel_titles(cells),
            METRICS[metric],
            of="device",
            log=log,
            separate=True,
            places=[device_of(cell) for cell in sorted(cells, key=_order)],
        ),
    )


def _series_names(cells: Sequence[Cell]) -> tuple[str, ...]:
    return names(cells, list(zip(workload_labels(cells), map(device_of, cells))))


def _order(cell: Cell) -> tuple[str, int]:
    """Return the place of a device: by its name, then by its number of threads."""
    return device_name(cell.first), cell.first["execution"]["threads"] or 0
