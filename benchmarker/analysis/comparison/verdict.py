"""Faster, slower, equivalent or inconclusive: the rule, its margin, and Holm's correction for many rows."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.analysis.comparison.paired_test import Paired
from benchmarker.analysis.comparison.resolution import Resolution
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import Record
from benchmarker.statistics import CONFIDENCE, holm

FASTER, SLOWER, EQUIVALENT, INCONCLUSIVE = "faster", "slower", "equivalent", "inconclusive"
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
        for (raw, claim), p in zip(nearest, holm([raw for raw, _ in nearest]))
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


DEFAULT = 0.02
_NOT_MEASURED = "default; what this machine resolves was not measured: compare --aa"
_TIMES = 2
"""A region is at least so many times what cannot be resolved."""


@dataclass(frozen=True)
class Margin:
    """Half the width of a region, relative, and what decided it."""

    value: float
    reason: str


def margin_of(requested: float | None, resolution: Resolution | None, records: Sequence[Record]) -> Margin:
    """Return the margin of a row: as asked for, but not below what can be resolved.

    Parameters
    ----------
    requested : float or None
        Relative, 0.02 for 2 %; None takes the default.
    resolution : Resolution or None
        The A/A comparison that is kept for the machine.
    records : sequence of mapping
        The processes of both sides: twice what clock and synchronisation are of a sample bounds it too.
    """
    found = [_least(requested, resolution)]
    if resolution is not None:
        found.append(
            Margin(
                _TIMES * resolution.half_width,
                f"resolution of this machine, twice the half-width of the A/A comparison of {resolution.problem} "
                f"on {resolution.framework}, {resolution.pairs} pairs",
            )
        )
    share = max(map(_timer_share, records), default=0.0)
    found.append(Margin(_TIMES * share, "twice the share of clock and synchronization in a sample"))
    return max(found, key=lambda margin: margin.value)


def _least(requested: float | None, resolution: Resolution | None) -> Margin:
    if requested is not None:
        return Margin(requested, "asked")
    return Margin(DEFAULT, "default" if resolution is not None else _NOT_MEASURED)


def _timer_share(record: Record) -> float:
    timing = record["timing"]
    overhead = timing.get("overhead") or {}
    seconds = (overhead.get("null_p50_seconds") or 0.0) + (overhead.get("synchronisation_seconds") or 0.0)
    return float(seconds / (timing["step_seconds"]["median"] * (timing.get("block_steps") or 1)))
