"""Ranks as intervals that hold for all entries of a contest at once.

An entry is shown to be ahead of another where a one-sided Welch test on the logarithms of their processes' values
rejects, after Holm's correction for all ordered pairs (Holm, Scandinavian J. Statistics 6, 1979). In 95 % of contests
no lead at all is claimed wrongly, so in these every interval holds its entry's true rank, and of equal entries all the
ranks that they share. That ranks follow so from pairwise tests is shown by Mogstad, Romano, Shaikh & Wilhelm,
"Inference for Ranks with Applications to Mobility across Neighbourhoods and Academic Achievement across Countries",
Review of Economic Studies 91, 2024. They step down by a bootstrap, for which five processes are too few; Holm's
correction needs none, and its intervals are wider.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarker.analysis.comparison.censored import holm
from benchmarker.analysis.reproduction.verdict import Side, side_of, welch
from benchmarker.statistics import CONFIDENCE, student_t_tail

LEVEL = 1 - CONFIDENCE
"""Share of contests in which any interval may leave out its entry's true rank."""


@dataclass(frozen=True, order=True)
class Rank:
    """An interval of ranks, 1 the best: ``best - 1`` entries are shown to be ahead, ``count - worst`` to be behind."""

    best: int
    worst: int

    def __str__(self) -> str:
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"


class Pairs:
    """Every ordered pair of entries with how likely so clear a lead is without one; less is better.

    Parameters
    ----------
    entries : sequence of sequence of float
        Of each entry one positive value a process, e.g. its median step; at least two.
    """

    def __init__(self, entries: Sequence[Sequence[float]]) -> None:
        sides = [side_of(values) for values in entries]
        self._p = [[_lead(first, other) for other in sides] for first in sides]

    def ranks(self, entries: Iterable[int]) -> list[Rank]:
        """Return the rank interval of each of these entries among them."""
        chosen = list(entries)
        pairs = [(first, other) for first in chosen for other in chosen if first != other]
        corrected = holm([self._p[first][other] for first, other in pairs])
        ahead = {pair for pair, p in zip(pairs, corrected) if p <= LEVEL}
        return [
            Rank(
                1 + sum((other, one) in ahead for other in chosen),
                len(chosen) - sum((one, other) in ahead for other in chosen),
            )
            for one in chosen
        ]


def rank_intervals(entries: Sequence[Sequence[float]]) -> list[Rank]:
    """Return the rank interval of each entry; all hold at once in 95 % of contests.

    Parameters
    ----------
    entries : sequence of sequence of float
        Of each entry one positive value a process, less is better; at least two.
    """
    return Pairs(entries).ranks(range(len(entries)))


def _lead(first: Side, other: Side) -> float:
    """Return the one-sided p value of that the first is ahead, i.e. has the smaller mean logarithm."""
    error, degrees = welch(first, other)
    lead = other.mean - first.mean
    if error == 0:
        return 0.0 if lead > 0 else 1.0
    value = lead / error
    return student_t_tail(value, degrees) if math.isfinite(value) else float(value < 0)
