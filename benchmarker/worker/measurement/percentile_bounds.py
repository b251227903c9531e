"""How far a percentile of latencies is known from so many of them, without any assumption of how they are distributed.

Of ``n`` independent latencies the number above the ``q``-th percentile is binomial, with probability ``1 - q/100`` each
(David & Nagaraja, Order Statistics, 3rd ed., section 7.1). So few being late proves the percentile to be within a
bound, so many proves it to be beyond, and between these the latencies do not tell. MLPerf's LoadGen stops early by
the same rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Optional

from benchmarker.quick_dataclass import dataclass
from benchmarker.statistics import percentile

CONFIDENCE = 0.99
"""Of each of the two bounds, one-sided."""
MET, MISSED, UNDECIDED = "met", "missed", "undecided"


@dataclass(frozen=True)
class Percentile:
    """A percentile of latencies, in their unit.

    Parameters
    ----------
    value : float
        By linear interpolation.
    at_least, at_most : float or None
        Below and above which it is not, each with :data:`CONFIDENCE`; None where there are too few latencies.
    """

    value: float
    at_least: Optional[float]
    at_most: Optional[float]


def bounded_percentile(latencies: Sequence[float], percent: float) -> Percentile:
    """Return a percentile of latencies with its bounds; there must be one latency at least."""
    ordered, count = sorted(latencies), len(latencies)
    most, fewest = max_late(count, percent), min_late(count, percent)
    return Percentile(
        percentile(ordered, percent),
        None if fewest is None else ordered[count - fewest],
        None if most is None else ordered[count - 1 - most],
    )


def verdict(late: int, count: int, percent: float) -> str:
    """Return whether ``late`` of ``count`` latencies prove that the percentile keeps a bound, or that it does not.

    Returns
    -------
    str
        :data:`MET`, :data:`MISSED` or :data:`UNDECIDED`.
    """
    most, fewest = max_late(count, percent), min_late(count, percent)
    if most is not None and late <= most:
        return MET
    return MISSED if fewest is not None and late >= fewest else UNDECIDED


@cache
def max_late(count: int, percent: float) -> Optional[int]:
    """Return how many of ``count`` may be late and the percentile is still within the bound; None: too few to tell.

    Were it beyond the bound, so few would be late in one of a hundred cases at most.
    """
    total, found = 0.0, None
    for late in range(count + 1):
        total += _probability(late, count, 1 - percent / 100)
        if total > 1 - CONFIDENCE:
            return found
        found = late
    return found


@cache
def min_late(count: int, percent: float) -> Optional[int]:
    """Return how many of ``count`` late ones prove the percentile to be beyond the bound; None: too few to tell."""
    total, found = 0.0, None
    for late in range(count, -1, -1):
        total += _probability(late, count, 1 - percent / 100)
        if total > 1 - CONFIDENCE:
            return found
        found = late
    return found


def _probability(late: int, count: int, share: float) -> float:
    """Return the binomial probability."""
    ways = math.lgamma(count + 1) - math.lgamma(late + 1) - math.lgamma(count - late + 1)
    return math.exp(ways + late * math.log(share) + (count - late) * math.log1p(-share))
