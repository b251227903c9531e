"""Comparisons of which the truth is known: the processes of two sides, simulated in pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarker.analysis.comparison.paired_test import Paired, paired
from benchmarker.analysis.comparison.verdict import INCONCLUSIVE, judge
from benchmarker.experiment.replication import order
from tests.support.step_times import Array, process_effects, steps

PAIRS, STEPS, MARGIN = 10, 80, 0.02
DRIFT = 0.10
"""By how much the machine gets slower from the first process to the last."""
_WANDER = 0.9

Effects = Callable[[np.random.Generator, int], Array]
"""Logarithms by comparison and place in time, of which there are two for each pair."""


def normal(between: float) -> Effects:
    """Return what makes processes differ: a log-normal."""
    return lambda draw, count: process_effects(draw, count, 2 * PAIRS, between=between)


def heavy(between: float) -> Effects:
    """Return a distribution with the tail of Student's t with three degrees of freedom."""

    def effects(draw: np.random.Generator, count: int) -> Array:
        values: Array = between / math.sqrt(3) * draw.standard_t(3, (count, 2 * PAIRS))
        return values

    return effects


def skewed(between: float) -> Effects:
    """Return one in which a tenth of the processes is slower by some of the spreads."""

    def effects(draw: np.random.Generator, count: int) -> Array:
        slow = draw.random((count, 2 * PAIRS)) < 0.1
        values: Array = between * (draw.standard_normal(slow.shape) + slow * draw.exponential(4, slow.shape))
        return values

    return effects


def drifting(effects: Effects) -> Effects:
    """Return one on a machine that gets slower steadily."""
    return lambda draw, count: effects(draw, count) + DRIFT * np.linspace(0, 1, 2 * PAIRS)


def wandering(between: float) -> Effects:
    """Return one in which neighbours in time are alike."""

    def effects(draw: np.random.Generator, count: int) -> Array:
        shocks = between * draw.standard_normal((count, 2 * PAIRS))
        values = shocks.copy()
        for i in range(1, 2 * PAIRS):
            values[:, i] = _WANDER * values[:, i - 1] + math.sqrt(1 - _WANDER**2) * shocks[:, i]
        return values

    return effects


@dataclass(frozen=True)
class Simulated:
    """Step times by comparison, place in time and step; the sides are the same but for their order.

    Parameters
    ----------
    times : array
        In seconds.
    """

    times: Array

    def sides(self, ratio: float = 1.0) -> tuple[Array, Array]:
        """Return the medians of both sides by comparison and pair, in the order in which rounds are drawn."""
        medians = np.median(self.times, axis=-1)
        first, other = np.empty((2, len(medians), PAIRS))
        for comparison in range(len(medians)):
            for number in range(PAIRS):
                places = dict(zip(order(2, number, comparison), (2 * number, 2 * number + 1)))
                first[comparison, number] = medians[comparison, places[0]]
                other[comparison, number] = medians[comparison, places[1]]
        return first, other * ratio

    def pairs(self, ratio: float = 1.0) -> list[Paired]:
        """Return what the pairs of each comparison say where the other side takes ``ratio`` times as long."""
        found = [paired(a.tolist(), b.tolist()) for a, b in zip(*self.sides(ratio))]
        return [one for one in found if one is not None]

    def blocks(self, processes: int) -> Array:
        """Return the ratio of pooled means of so many processes of one side, then of the other."""
        half = self.times.shape[1] // 2
        first, other = self.times[:, :processes], self.times[:, half : half + processes]
        ratios: Array = other.mean(axis=(1, 2)) / first.mean(axis=(1, 2))
        return ratios


def simulate(effects: Effects, count: int, seed: int) -> Simulated:
    """Return so many comparisons of equal sides; steps within a process as in :mod:`tests.support.step_times`."""
    draw = np.random.default_rng(seed)
    return Simulated(steps(draw, effects(draw, count), STEPS))


def verdicts(rows: list[Paired], margin: float = MARGIN) -> list[str]:
    """Return the verdict of each comparison by itself."""
    return [judge([row], [margin])[0].verdict for row in rows]


def false_alarms(rows: list[Paired], margin: float = MARGIN) -> float:
    """Return the share of comparisons of equal sides in which one is called faster or slower."""
    found = verdicts(rows, margin)
    return sum(verdict in ("faster", "slower") for verdict in found) / len(found)


def told(rows: list[Paired]) -> float:
    """Return the share of comparisons that say anything."""
    found = verdicts(rows)
    return sum(verdict != INCONCLUSIVE for verdict in found) / len(found)
