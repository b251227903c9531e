"""The ratio of two sides from pairs of fresh processes: its interval, and what ranks say of the same pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarker.comparison.signed_rank import hodges_lehmann, signed_rank
from benchmarker.statistics import CONFIDENCE, FEWEST_PROCESSES, paired_ratio, student_t_tail

FEWEST_PAIRS = FEWEST_PROCESSES


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
    if len(first) < FEWEST_PAIRS:
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
