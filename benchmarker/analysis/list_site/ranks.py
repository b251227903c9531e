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
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarker.analysis.reproduction.verdict import Side, side_of, welch
from benchmarker.statistics import CONFIDENCE, student_t_tail

LEVEL = 1 - CONFIDENCE
"""Share of contests in which any interval may leave out its entry's true rank."""

_Lead = tuple[float, int, int]
"""How likely so clear a lead is without one, who is ahead, and of whom."""


@dataclass(frozen=True, order=True)
class Rank:
    """An interval of ranks, 1 the best: ``best - 1`` entries are shown to be ahead, ``count - worst`` to be behind."""

    best: int
    worst: int

    def __str__(self) -> str:
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"


class Pairs:
    """Every ordered pair of entries whose first one may be ahead, the clearest first.

    Parameters
    ----------
    entries : sequence of sequence of float
        Of each entry one positive value per process, e.g. its median step; at least two; less is better.
    """

    def __init__(self, entries: Sequence[Sequence[float]]) -> None:
        sides = list(enumerate(map(side_of, entries)))
        tests = ((_lead(a, b), first, other) for first, a in sides for other, b in sides if first != other)
        # No correction makes a p value smaller, so the others are never shown.
        self._leads = sorted(test for test in tests if test[0] <= LEVEL)

    def ranks(self, entries: Iterable[int]) -> list[Rank]:
        """Return the rank interval of each of these entries among them."""
        chosen = list(entries)
        among, count = set(chosen), len(chosen)
        leads = [(p, a, b) for p, a, b in self._leads if a in among and b in among]
        shown = _step_down(leads, count * (count - 1))
        behind = Counter(first for _, first, _ in shown)
        ahead = Counter(other for _, _, other in shown)
        return [Rank(1 + ahead[one], count - behind[one]) for one in chosen]


def _step_down(leads: Sequence[_Lead], tests: int) -> Sequence[_Lead]:
    """Return the leads that are shown, of so many tests in all: Holm's correction, of p values in rising order."""
    for place, (p, _, _) in enumerate(leads):
        if p * (tests - place) > LEVEL:
            return leads[:place]
    return leads


def _lead(first: Side, other: Side) -> float:
    """Return the one-sided p value of that the first is ahead, i.e. has the smaller mean logarithm."""
    error, degrees = welch(first, other)
    lead = other.mean - first.mean
    if error == 0:
        return 0.0 if lead > 0 else 1.0
    value = lead / error
    return student_t_tail(value, degrees) if math.isfinite(value) else float(value < 0)
