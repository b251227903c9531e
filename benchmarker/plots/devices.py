"""Devices side by side, and numbers of threads of one, grouped by problem."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.plots.caption import caption, intervals
from benchmarker.plots.chart import Chart
from benchmarker.plots.frameworks import TITLES
from benchmarker.plots.gathering import Record, first_groups, gather
from benchmarker.plots.naming import device_of, names, work_in_common, works
from benchmarker.plots.quantity import Metric, axis_of, row_of, unit_of
from benchmarker.plots.side_by_side import MOST_PANELS, panels


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
    ended = gather(records, "runs that ended well")
    gathered = first_groups(ended, lambda cell: cell.work, MOST_PANELS, "of further problems")
    cells = gathered.cells
    work, devices = works(cells), [device_of(cell) for cell in cells]
    rows = [
        row_of(cell, name, device, metric)
        for cell, name, device in zip(cells, names(cells, list(zip(work, devices))), devices)
    ]
    return Chart(
        kind="devices",
        title=": ".join(filter(None, (f"{TITLES[metric]} by device", work_in_common(cells)))),
        caption=caption(gathered, intervals(cells)),
        panels=panels(
            rows,
            work,
            lambda group, logarithmic: unit_of([row.value for row in group], metric, log=logarithmic),
            lambda unit, logarithmic: axis_of(unit, metric, log=logarithmic),
            of="device",
            log=log,
            separate=True,
        ),
    )
