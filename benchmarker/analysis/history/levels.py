"""Where the level of a history changes: :mod:`benchmarker.records.change_points` finds, a test confirms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from benchmarker.records.change_points import (
    EQUAL,
    EQUAL_IF_NOISY,
    MIN_SIZE,
    NOISY,
    NORMAL_QUARTILE,
    Array,
    change_points,
    without_outliers,
)

MIN_POINTS = 2 * MIN_SIZE
"""Points of the shortest history in which a change can be found: those of two levels."""
ALPHA = 0.01
"""How often chance may make as large a change, where there is none."""

_PERMUTATIONS = 1999
# Finer than a clock and a machine can tell on different days.
_MIN_NOISE = 1e-3
_MAX_CORRELATION = 0.9
_MIN_FOR_OUTLIERS = 2 * MIN_SIZE + 1


def find_changes(centres: Sequence[float]) -> list[int]:
    """Return the first point of each new level of a history; nothing for one that is too short.

    The cheapest segmentation of the logarithms proposes changes. One stays if no more than 1 % of random orders
    of the points around it, up to the changes beside it, have as large a change anywhere: so the search for the
    best place is paid for, and the noise may have heavy tails. Points weigh the same, because what a
    machine does from day to day is not in the interval that the processes of one day give.

    Parameters
    ----------
    centres : sequence of float
        Seconds per step of each point, in the order of time.
    """
    if len(centres) < MIN_POINTS:
        return []
    logs = np.log(np.asarray(centres, dtype=np.float64))
    if len(logs) >= _MIN_FOR_OUTLIERS:
        logs, _lead = without_outliers(logs)
    noise = _noise(logs)
    ends, _cost = change_points(logs, 3 * noise**2 * math.log(len(logs)))
    equal = EQUAL_IF_NOISY if noise > NOISY else EQUAL
    return _shown(logs, [0, *ends], equal)[1:-1]


def _noise(logs: Array) -> float:
    """Return the standard deviation around the levels, by differences of neighbours, which a change touches once."""
    size = float(np.median(np.abs(np.diff(logs)))) / NORMAL_QUARTILE / math.sqrt(2)
    return max(size, _MIN_NOISE)


def _shown(logs: Array, bounds: list[int], equal: float) -> list[int]:
    """Return the bounds of levels without those changes that are too small or may be chance, the least first."""
    while len(bounds) > 2:
        chances = [
            _chance(logs[start:end], bound - start, equal)
            for start, bound, end in zip(bounds, bounds[1:], bounds[2:])
        ]
        worst = max(chances)
        if worst <= ALPHA:
            break
        del bounds[1 + chances.index(worst)]
    return bounds


def _chance(logs: Array, bound: int, equal: float) -> float:
    """Return in what share of random orders of a part some change is at least as large as its largest."""
    before, after = logs[:bound], logs[bound:]
    if abs(float(before.mean() - after.mean())) <= math.log1p(equal):
        return 1.0
    part = logs - logs.mean()
    rest = np.concatenate([before - before.mean(), after - after.mean()])
    found = _largest(part[None, :])[0] / _long_run(rest)
    random = np.random.default_rng(0)
    orders = random.permuted(np.tile(part, (_PERMUTATIONS, 1)), axis=1)
    return float((1 + np.count_nonzero(_largest(orders) >= found * (1 - 1e-9))) / (1 + _PERMUTATIONS))


def _long_run(rest: Array) -> float:
    """Return how much more the mean of many points varies than if they were independent, at least 1.

    A first-order autoregression, from what is left around two levels; fitting those makes the correlation too
    small, by ``(1 + 3 r) / n`` each (Marriott & Pope, Biometrika 41, 1954).
    """
    square = float(rest @ rest)
    seen = float(rest[:-1] @ rest[1:]) / square if square else 0.0
    r = min(max(0.0, seen + 2 * (1 + 3 * max(0.0, seen)) / len(rest)), _MAX_CORRELATION)
    return (1 + r) / (1 - r)


def _largest(rows: Array) -> Array:
    """Return, of each row of mean 0, the most that a change of level explains: squared sum before it, standardised."""
    count = rows.shape[1]
    before = np.arange(MIN_SIZE, count - MIN_SIZE + 1)
    sums = np.cumsum(rows, axis=1)[:, before - 1]
    explained: Array = (sums**2 * (count / (before * (count - before)))).max(axis=1)
    return explained
