"""Whether something may pass: rows that are shown to be slower than a limit, and those of which nothing is known."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.analysis.comparison.compare import Row
from benchmarker.analysis.comparison.paired_test import Paired
from benchmarker.analysis.comparison.verdict import LEVEL
from benchmarker.quick_dataclass import dataclass
from benchmarker.statistics import holm


@dataclass(frozen=True)
class Gate:
    """What became of the rows.

    Parameters
    ----------
    limit : float
        Relative: 0.05 lets a step be 5 % slower.
    slower : tuple of Row
        Shown to be slower by more than the limit, or the row's margin if that is wider.
    untold : tuple of Row
        Of which it can be told neither that they are nor that they are not.
    """

    limit: float
    slower: tuple[Row, ...]
    untold: tuple[Row, ...]


def gate(rows: Sequence[Row], limit: float) -> Gate:
    """Hold rows against a limit; with several, Holm's correction keeps 95 % of comparisons free of a false alarm."""
    judged = [(row, row.paired) for row in rows if row.verdict is not None and row.paired is not None]
    alarms = holm([2 * found.p_above(_bound(row, limit)) for row, found in judged])
    slower = [row for (row, _), p in zip(judged, alarms) if p <= LEVEL]
    passed = [row for row, found in judged if _is_below(found, _bound(row, limit))]
    untold = [row for row in rows if not any(row is known for known in (*slower, *passed))]
    return Gate(limit, tuple(slower), tuple(untold))


def _bound(row: Row, limit: float) -> float:
    return 1 + max(limit, row.margin.value)


def _is_below(found: Paired, bound: float) -> bool:
    return found.ci95[1] <= bound
