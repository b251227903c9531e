"""Problems by frameworks: how many times as long a step takes as the baseline's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarker.analysis.charts.caption import caption
from benchmarker.analysis.charts.labels import names, title_of, workload_labels
from benchmarker.analysis.charts.quantities import runs_of
from benchmarker.analysis.charts.selection import MAX_ROWS, few_series, gather, limit_workloads, networks
from benchmarker.analysis.text.units import significant
from benchmarker.api.chart import Axis, Chart, Heat, Panel
from benchmarker.errors import UsageError, did_you_mean
from benchmarker.records.cells import Cell
from benchmarker.records.lookup import Record

FASTEST = "fastest"
_OTHER_VALUES = "≠"


def chart(records: Sequence[Record], *, baseline: str = FASTEST) -> Chart:
    """Return a heat map of step times over a baseline's: 1 is as fast, 2 takes twice as long.

    Parameters
    ----------
    records : sequence of dict
        Any; those that did not end well are left out.
    baseline : str
        The framework all others are divided by, or ``"fastest"`` for the fastest of each problem.

    Raises
    ------
    UsageError
        If no run ended well, all are of one framework, or none is of the baseline.
    """
    gathered = limit_workloads(few_series(networks(gather(records, "runs that ended well"))), MAX_ROWS)
    cells = gathered.cells
    rows, columns = workload_labels(cells), names(cells, workload_labels(cells))
    table = {(row, column): cell for row, column, cell in zip(rows, columns, cells)}
    problems, frameworks = tuple(dict.fromkeys(rows)), tuple(dict.fromkeys(columns))
    if len(frameworks) < 2:
        raise UsageError(
            "such a picture needs runs of several frameworks, versions or settings, and all "
            f"{len(gathered.records)} that ended well are of {frameworks[0]}"
        )
    if baseline != FASTEST and baseline not in frameworks:
        hint = did_you_mean(baseline, frameworks)
        raise UsageError(f"a baseline must be 'fastest' or among what is shown, got '{baseline}'{hint}")
    values = [[_ratio(table, row, column, baseline) for column in frameworks] for row in problems]
    other = any(isinstance(value, str) for row in values for value in row)
    what = "the fastest framework's" if baseline == FASTEST else f"{baseline}'s"
    return Chart(
        kind="speedup",
        title=title_of(f"Step time over {what}", cells),
        caption=caption(
            gathered,
            "Above 1 is slower. The ratios have no intervals here: 'benchmarker compare' tells what they show.",
            f"{_OTHER_VALUES}: computed with different values, not comparable." if other else "",
        ),
        panels=(
            Panel(
                Axis("framework", scale="category", categories=frameworks),
                Axis("problem", scale="category", categories=problems),
                heat=Heat(
                    problems,
                    frameworks,
                    tuple(tuple(None if isinstance(v, str) else v for v in row) for row in values),
                    tuple(tuple(map(_text, row)) for row in values),
                    f"step time over {what}",
                    centre=1.0,
                    runs=tuple(_runs_of_row(table, row) for row in problems),
                ),
            ),
        ),
    )


def _ratio(table: Mapping[tuple[str, str], Cell], row: str, column: str, baseline: str) -> float | str | None:
    """Return the ratio; None without one of the two, a sign where both computed with other values."""
    cell = table.get((row, column))
    if baseline == FASTEST:
        known = [found for (of, _), found in table.items() if of == row and found.step_seconds]
        first = min(known, key=lambda found: found.step_seconds or 0.0, default=None)
    else:
        first = table.get((row, baseline))
    if cell is None or first is None or not cell.step_seconds or not first.step_seconds:
        return None
    return _OTHER_VALUES if cell.other_values(first) else cell.step_seconds / first.step_seconds


def _text(value: float | str | None) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else significant(value, 3)


def _runs_of_row(table: Mapping[tuple[str, str], Cell], row: str) -> tuple[str, ...]:
    return tuple(run for (of, _), cell in table.items() if of == row for run in runs_of(cell))
