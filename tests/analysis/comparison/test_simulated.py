"""Comparisons of which the truth is known: how often verdicts are wrong, and how often they are found."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarker.analysis.comparison.paired_test import power, smallest_effect
from benchmarker.analysis.comparison.verdict import judge
from tests.support.simulated_comparisons import (
    MARGIN,
    PAIRS,
    Effects,
    drifting,
    false_alarms,
    heavy,
    normal,
    simulate,
    skewed,
    told,
    verdicts,
    wandering,
)

COUNT = 600
NOISES = {
    "1 % between processes": normal(0.01),
    "2 %": normal(0.02),
    "5 %": normal(0.05),
    "10 %": normal(0.10),
    "heavy tail": heavy(0.05),
    "some processes slow": skewed(0.05),
    "drift": drifting(normal(0.01)),
    "drift and noise": drifting(normal(0.10)),
    "neighbours alike": wandering(0.10),
}


@pytest.mark.parametrize("effects", NOISES.values(), ids=list(NOISES))
def test_equal_sides_are_seldom_called_different(effects: Effects) -> None:
    found = simulate(effects, COUNT, seed=3).pairs()
    assert false_alarms(found) <= 0.05
    # Without a region of practical equivalence: the level of the test, give or take three errors.
    assert false_alarms(found, margin=1e-9) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / COUNT)


def test_a_constant_threshold_cries_wolf() -> None:
    """What is held against: 7 % between means; it shows that these noises are hard enough to tell rules apart."""
    shares = [
        float(np.mean(np.abs(simulate(NOISES[name], COUNT, seed=3).blocks(1) - 1) > 0.07))
        for name in ("1 % between processes", "10 %", "drift and noise")
    ]
    assert shares[0] <= 0.05
    assert shares[1] >= 0.5
    assert shares[2] >= 0.5


def test_where_there_is_little_noise_equal_sides_are_equivalent() -> None:
    assert told(simulate(normal(0.01), COUNT, seed=4).pairs()) >= 0.85


@pytest.mark.parametrize("between", [0.01, 0.02, 0.05, 0.10])
def test_differences_are_found_as_often_as_planned(between: float) -> None:
    simulated = simulate(normal(between), COUNT, seed=6)
    first, other = simulated.sides()
    deviation = float(np.std(np.log(other / first)))
    smallest = (1 + MARGIN) * math.exp(smallest_effect(deviation, PAIRS))
    for ratio in (smallest, 1.05, 1.10):
        planned = power(math.log(ratio / (1 + MARGIN)), deviation, PAIRS)
        found = verdicts(simulated.pairs(ratio))
        assert found.count("slower") / COUNT == pytest.approx(planned, abs=0.05)


def test_many_rows_together_are_seldom_wrong() -> None:
    """Of families of eight rows, some at the edge of the margin: any wrong verdict in at most 5 %, give or take."""
    edge = simulate(normal(0.02), 8 * 200, seed=8).pairs(1 + MARGIN)
    families = [edge[i : i + 8] for i in range(0, len(edge), 8)]

    def wrong(corrected: bool) -> float:
        found = [
            judge(rows, [MARGIN] * 8) if corrected else [judge([row], [MARGIN])[0] for row in rows]
            for rows in families
        ]
        return sum(any(v.verdict != "inconclusive" for v in family) for family in found) / len(families)

    assert wrong(corrected=True) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / len(families))
    assert wrong(corrected=False) >= 0.15
