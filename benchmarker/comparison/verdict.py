"""Faster, slower, equivalent or inconclusive: the rule, on pairs alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarker.comparison.holm import adjusted
from benchmarker.comparison.paired import Paired
from benchmarker.statistics import CONFIDENCE

FASTER, SLOWER, EQUIVALENT, INCONCLUSIVE = "faster", "slower", "equivalent", "inconclusive"
VERDICTS = (FASTER, SLOWER, EQUIVALENT, INCONCLUSIVE)
LEVEL = 1 - CONFIDENCE
"""The probability of any wrong verdict in a whole comparison, at most."""


@dataclass(frozen=True)
class Verdict:
    """What pairs show of one row.

    Parameters
    ----------
    verdict : {"faster", "slower", "equivalent", "inconclusive"}
        Of the other side.
    p : float
        Of what is nearest to being shown, doubled as for a two-sided test.
    p_adjusted : float
        By Holm over all rows; at most 0.05 if it is shown.
    """

    verdict: str
    p: float
    p_adjusted: float


def judge(rows: Sequence[Paired], margins: Sequence[float]) -> list[Verdict]:
    """Return the verdict of each row, right about all of them together in 95 % of comparisons.

    With one row it is the rule of the interval: wholly above the region of practical equivalence is
    ``slower``, wholly below ``faster``, wholly inside ``equivalent``, else ``inconclusive``. As tests: the ratio
    is above the region, below it, or inside by two one-sided tests (Schuirmann, J. Pharmacokinetics and
    Biopharmaceutics 15, 1987), each at 2.5 %; at most two of the three can be wrong, and the smallest p value,
    doubled, stands for the row in Holm's correction.

    Parameters
    ----------
    rows : sequence of Paired
        One a row.
    margins : sequence of float
        Half the width of each row's region: it reaches from ``1 / (1 + margin)`` to ``1 + margin``.
    """
    nearest = [_nearest(row, margin) for row, margin in zip(rows, margins)]
    return [
        Verdict(claim if p <= LEVEL else INCONCLUSIVE, raw, p)
        for (raw, claim), p in zip(nearest, adjusted([raw for raw, _ in nearest]))
    ]


def _nearest(row: Paired, margin: float) -> tuple[float, str]:
    """Return the p value, doubled, of what is nearest to being shown, and that."""
    low, high = 1 / (1 + margin), 1 + margin
    claims = (
        (row.p_above(high), SLOWER),
        (row.p_below(low), FASTER),
        (max(row.p_above(low), row.p_below(high)), EQUIVALENT),
    )
    p, claim = min(claims)
    return min(1.0, 2 * p), claim
