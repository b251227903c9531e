"""What ranks say of paired differences, whatever their distribution: Wilcoxon's test, Hodges and Lehmann's shift."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, median

MOST_EXACT = 25
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
    tail = _counted_tail if len(nonzero) <= MOST_EXACT else _normal_tail
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
