"""What pairs of fresh processes show: the ratio and its interval, what ranks say of it, and the test's power."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist, median

from benchmarker.quick_dataclass import dataclass
from benchmarker.statistics import (
    CONFIDENCE,
    MIN_PROCESSES,
    paired_ratio,
    student_t_quantile,
    student_t_tail,
)

MIN_PAIRS = MIN_PROCESSES


@dataclass(frozen=True)
class Paired:
    """What at least three pairs say of step times, other side over first side.

    Parameters
    ----------
    pairs : int
        How many.
    ratio : float
        Geometric mean of the pairs' ratios.
    ci95 : tuple of float
        Student's t on their logarithms.
    deviation : float
        Standard deviation of their logarithms.
    hodges_lehmann : float
        The ratio by the median of the Walsh averages of the logarithms.
    signed_rank_p : float
        Of Wilcoxon's test that the ratio is 1.
    non_normal : bool
        Whether a test shows a difference, and mean, median of Walsh averages and rank sum do not all
        point the same way.
    """

    pairs: int
    ratio: float
    ci95: tuple[float, float]
    deviation: float
    hodges_lehmann: float
    signed_rank_p: float
    non_normal: bool

    @property
    def half_width(self) -> float:
        """Relative: the upper end of the interval is ``1 + half_width`` times the ratio."""
        return self.ci95[1] / self.ratio - 1

    def p_above(self, bound: float) -> float:
        """Return the one-sided p value of the hypothesis that the true ratio is at most ``bound``."""
        return student_t_tail(self._t(bound), self.pairs - 1)

    def p_below(self, bound: float) -> float:
        """Return the one-sided p value of the hypothesis that the true ratio is at least ``bound``."""
        return student_t_tail(-self._t(bound), self.pairs - 1)

    def _t(self, bound: float) -> float:
        distance, error = math.log(self.ratio / bound), self.deviation / math.sqrt(self.pairs)
        if error == 0:
            return math.copysign(math.inf, distance) if distance else 0.0
        return distance / error


def paired(first: Sequence[float], other: Sequence[float]) -> Paired | None:
    """Return what pairs say; ``None`` for fewer than three.

    Parameters
    ----------
    first, other : sequence of float
        The median step of each process in seconds, positive; those at the same place are a pair.
    """
    if len(first) < MIN_PAIRS:
        return None
    found = paired_ratio(other, first)
    assert found.ci95 is not None  # there are enough pairs
    logs = [math.log(y / x) for x, y in zip(first, other)]
    mean = math.fsum(logs) / len(logs)
    ranks, shift = signed_rank(logs), hodges_lehmann(logs)
    shown = not found.ci95[0] <= 1 <= found.ci95[1] or ranks.p <= 1 - CONFIDENCE
    return Paired(
        pairs=found.count,
        ratio=found.centre,
        ci95=found.ci95,
        deviation=math.sqrt(math.fsum([(x - mean) ** 2 for x in logs]) / (len(logs) - 1)),
        hodges_lehmann=math.exp(shift),
        signed_rank_p=ranks.p,
        non_normal=shown and len({_sign(mean), _sign(shift), ranks.direction}) > 1,
    )


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


MAX_EXACT = 25
"""Up to so many differences the distribution is counted; beyond, it is normal for all that matters."""


@dataclass(frozen=True)
class SignedRank:
    """What Wilcoxon's signed-rank test says of differences that should be symmetric about zero.

    Parameters
    ----------
    p : float
        Two-sided.
    direction : int
        1 where the positive differences have the larger ranks, -1 where the negative ones have, 0 at balance.
    """

    p: float
    direction: int


def signed_rank(differences: Sequence[float]) -> SignedRank:
    """Return Wilcoxon's signed-rank test (Biometrics Bulletin 1, 1945).

    Zeros are left out and equal differences share the mean of their ranks. For few differences the p value is
    counted over all ways to give signs to these very ranks, so it is exact with ties too; for many, it is that
    of the normal distribution with the variance of these ranks.

    Parameters
    ----------
    differences : sequence of float
        One a pair.
    """
    nonzero = [x for x in differences if x != 0]
    if not nonzero:
        return SignedRank(1.0, 0)
    # Shared ranks are multiples of one half, so twice the ranks are whole.
    doubled = _doubled_ranks([abs(x) for x in nonzero])
    positive = sum(rank for rank, x in zip(doubled, nonzero) if x > 0)
    excess = 2 * positive - sum(doubled)
    tail = _counted_tail if len(nonzero) <= MAX_EXACT else _normal_tail
    return SignedRank(min(1.0, 2 * tail(doubled, abs(excess))), (excess > 0) - (excess < 0))


def _doubled_ranks(sizes: Sequence[float]) -> list[int]:
    ordered = sorted(sizes)
    first = {size: place for place, size in reversed(list(enumerate(ordered, start=1)))}
    last = {size: place for place, size in enumerate(ordered, start=1)}
    return [first[size] + last[size] for size in sizes]


def _counted_tail(doubled: Sequence[int], excess: int) -> float:
    """Return the share of all assignments of signs whose positive ranks exceed the others by as much."""
    total = sum(doubled)
    ways = [1] + [0] * total
    for rank in doubled:
        for place in range(total, rank - 1, -1):
            ways[place] += ways[place - rank]
    return float(sum(ways[(total + excess + 1) // 2 :]) / 2 ** len(doubled))


def _normal_tail(doubled: Sequence[int], excess: int) -> float:
    deviation = math.sqrt(sum(rank**2 for rank in doubled))
    return 1 - NormalDist().cdf(excess / deviation)


def hodges_lehmann(differences: Sequence[float]) -> float:
    """Return the median of the means of all pairs of differences, each with itself too.

    It estimates the centre of a symmetric distribution (Hodges & Lehmann, Annals of Mathematical Statistics
    34, 1963).

    Parameters
    ----------
    differences : sequence of float
        At least one.
    """
    return median((x + y) / 2 for i, x in enumerate(differences) for y in differences[i:])


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
