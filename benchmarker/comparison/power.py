"""What a number of pairs can show: the power of the paired test, and the smallest effect it would have seen."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

from benchmarker.statistics import CONFIDENCE, student_t_quantile

POWER = 0.8
_SLICES = 200
_WIDTHS = 8
"""Standard deviations of the estimated spread over which its distribution is integrated."""


def power(effect: float, deviation: float, pairs: int, *, level: float = 1 - CONFIDENCE) -> float:
    """Return the probability that the interval of a paired t test lies wholly on the true side of a bound.

    Parameters
    ----------
    effect : float
        How far the true logarithm of the ratio is beyond the bound.
    deviation : float
        True standard deviation of the pairs' logarithms, above 0.
    pairs : int
        At least 3.
    level : float
        Of the two-sided test.
    """
    return _power(effect * math.sqrt(pairs) / deviation, pairs - 1, level)


def smallest_effect(deviation: float, pairs: int, *, level: float = 1 - CONFIDENCE) -> float:
    """Return how far beyond a bound the logarithm of a ratio must be to be seen in 80 % of comparisons.

    Parameters
    ----------
    deviation, pairs, level
        As of :func:`power`; the deviation may be 0.
    """
    return _shift(pairs - 1, level) * deviation / math.sqrt(pairs)


@cache
def _shift(degrees: int, level: float) -> float:
    """Return the noncentrality, in standard errors, at which the power is :data:`POWER`."""
    low, high = 0.0, 4 * student_t_quantile(1 - level / 2, degrees)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _power(middle, degrees, level) < POWER else (low, middle)
    return high


def _power(shift: float, degrees: int, level: float) -> float:
    """Return ``P(T > t)`` of a noncentral t: the normal tail, averaged over the spread that may be estimated."""
    quantile, normal = student_t_quantile(1 - level / 2, degrees), NormalDist()
    half = _WIDTHS / math.sqrt(2 * degrees)
    low, high = max(0.0, 1 - half), 1 + half
    step = (high - low) / _SLICES
    total = weights = 0.0
    for k in range(_SLICES + 1):
        spread = low + k * step
        weight = (1 if k in (0, _SLICES) else 4 if k % 2 else 2) * _density(spread, degrees)
        weights += weight
        total += weight * normal.cdf(shift - quantile * spread)
    return total / weights


def _density(spread: float, degrees: int) -> float:
    """Return the density of an estimated standard deviation over the true one, but for a constant factor."""
    if spread <= 0:
        return 0.0
    return math.exp((degrees - 1) * math.log(spread) - degrees * (spread**2 - 1) / 2)
