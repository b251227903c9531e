"""The step of a run whose ranks exchange every so many steps: the mean from one exchange to the next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median

from benchmarker.analysis.charts.samples import block_steps, steady_samples
from benchmarker.api.scheme import named
from benchmarker.distributed.schemes.averaging import Averaging
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import Record, value_at
from benchmarker.statistics import MIN_FOR_INTERVAL, across_processes, geometric_mean, median_interval


def period_of(record: Record) -> int:
    """Return after how many steps a run exchanges again: 1 but for a scheme that averages weights."""
    name, constant = named(str(value_at(record, "distributed.scheme") or ""))
    return int(float(constant)) if name == Averaging.name and constant else 1


def typical_step(cell: Cell) -> tuple[float | None, tuple[float, float] | None]:
    """Return the seconds of a step with their 95 % interval, as a cell has them, but of whole periods.

    The median of single steps would leave out an exchange that comes at every eighth.
    """
    if not cell.well or period_of(cell.first) == 1:
        return cell.step_seconds, cell.interval_seconds
    found = [_periods(record) for record in cell.well]
    medians = [median(values) for values in found]
    if len(medians) == 1:
        enough = len(found[0]) >= MIN_FOR_INTERVAL
        return medians[0], median_interval(found[0]) if enough else None
    return geometric_mean(medians), across_processes(medians).ci95


def _periods(record: Record) -> Sequence[float]:
    """Return the mean step of each period; of fewer samples than one has, that of all."""
    samples, block = steady_samples(record), block_steps(record)
    count = math.lcm(period_of(record), block) // block
    starts = range(0, len(samples) - count + 1, count)
    return [fmean(samples[start : start + count]) for start in starts] or [fmean(samples)]
