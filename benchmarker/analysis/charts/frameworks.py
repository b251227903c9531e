"""Frameworks side by side, grouped by problem."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.analysis.charts.caption import caption, intervals
from benchmarker.analysis.charts.grouped_bars import panels
from benchmarker.analysis.charts.labels import names, title_of, workload_labels
from benchmarker.analysis.charts.quantities import METRICS, Metric, row_of
from benchmarker.analysis.charts.selection import few_series, gather, limit_workloads, networks
from benchmarker.api.chart import Chart
from benchmarker.records.lookup import Record

TITLES = {"step": "Time per step", "throughput": "Throughput"}


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
    gathered = limit_workloads(few_series(networks(gather(records, "runs that ended well"))))
    cells = gathered.cells
    work = workload_labels(cells)
    rows = [row_of(c, name, w, metric) for c, name, w in zip(cells, names(cells, work), work)]
    return Chart(
        kind="frameworks",
        title=title_of(TITLES[metric], cells),
        caption=caption(gathered, intervals(cells)),
        panels=panels(
            rows,
            work,
            METRICS[metric],
            of="problem",
            log=log,
        ),
    )
