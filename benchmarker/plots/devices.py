"""Devices side by side, and numbers of threads of one, grouped by problem."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.plots.caption import caption, intervals
from benchmarker.plots.chart import Chart
from benchmarker.plots.frameworks import TITLES
from benchmarker.plots.gathering import Record, gather
from benchmarker.plots.limits import few_series, few_works
from benchmarker.plots.naming import device_name, device_of, names, panel_titles, work_in_common, works
from benchmarker.plots.quantity import Metric, axis_of, row_of, unit_of
from benchmarker.plots.side_by_side import MOST_PANELS, panels
from benchmarker.report.cells import Cell


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
    ended = few_series(gather(records, "runs that ended well"), _series_names, places=("device", "threads"))
    gathered = few_works(ended, MOST_PANELS)
    cells = gathered.cells
    devices = [device_of(cell) for cell in cells]
    rows = [row_of(c, name, device, metric) for c, name, device in zip(cells, _series_names(cells), devices)]
    return Chart(
        kind="devices",
        title=": ".join(filter(None, (f"{TITLES[metric]} by device", work_in_common(cells)))),
        caption=caption(gathered, intervals(cells)),
        panels=panels(
            rows,
            panel_titles(cells),
            lambda group, logarithmic: unit_of([row.value for row in group], metric, log=logarithmic),
            lambda unit, logarithmic: axis_of(unit, metric, log=logarithmic),
            of="device",
            log=log,
            separate=True,
            places=[device_of(cell) for cell in sorted(cells, key=_order)],
        ),
    )


def _series_names(cells: Sequence[Cell]) -> tuple[str, ...]:
    return names(cells, list(zip(works(cells), map(device_of, cells))))


def _order(cell: Cell) -> tuple[str, int]:
    """Return the place of a device: by its name, then by its number of threads."""
    return device_name(cell.first), cell.first["execution"]["threads"] or 0
