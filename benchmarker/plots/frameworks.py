"""Frameworks side by side, grouped by problem."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.plots.caption import caption, intervals
from benchmarker.plots.chart import Chart
from benchmarker.plots.gathering import Record, gather
from benchmarker.plots.limits import few_series, few_works
from benchmarker.plots.naming import names, work_in_common, works
from benchmarker.plots.quantity import Metric, axis_of, row_of, unit_of
from benchmarker.plots.side_by_side import panels

TITLES = {"step": "Time of a step", "throughput": "Throughput"}


def chart(records: Sequence[Record], *, metric: Metric = "step", log: bool | None = None) -> Chart:
    """Return frameworks side by side.

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
    gathered = few_works(few_series(gather(records, "runs that ended well")))
    cells = gathered.cells
    work = works(cells)
    rows = [row_of(c, name, w, metric) for c, name, w in zip(cells, names(cells, work), work)]
    return Chart(
        kind="frameworks",
        title=": ".join(filter(None, (TITLES[metric], work_in_common(cells)))),
        caption=caption(gathered, intervals(cells)),
        panels=panels(
            rows,
            work,
            lambda group, logarithmic: unit_of([row.value for row in group], metric, log=logarithmic),
            lambda unit, logarithmic: axis_of(unit, metric, log=logarithmic),
            of="problem",
            log=log,
        ),
    )
