"""Where the level of a series of step times changes: the search behind :mod:`benchmarker.records.steady_state`."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from benchmarker.quick_dataclass import dataclass
from benchmarker.statistics import percentile

MIN_SIZE = 5
"""The fewest points of a level."""
EQUAL, EQUAL_IF_NOISY, NOISY = 0.01, 0.02, 0.03
"""Relative difference of levels that counts as none, and as none if the noise is above 3 %."""

# The search takes time in proportion to the square of their number; of more, medians of blocks are taken.
_MAX_POINTS = 1000
_EXPLAINED_AT_ONCE = 1 << 15
# Below this noise a change is smaller than what counts as none, whatever the clock's resolution.
_MIN_NOISE = 1e-3
_MAX_CORRELATION = 0.9
NORMAL_QUARTILE = 0.6744897501960817

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Levels:
    """The levels of a series.

    Parameters
    ----------
    spans : list of (int, int)
        The first sample of each and that after its last one.
    equal : float
        Relative difference that counts as none.
    """

    spans: list[tuple[int, int]]
    equal: float


def find_levels(times: Array) -> Levels:
    """Return the levels of a series of positive times, found in their logarithms.

    A change costs ``6 s**2 ln n``, where ``s`` is the noise that the mean of many points sees: autocorrelated
    noise is no change. It is the lesser of what neighbours say, whom many changes seem to correlate, and of
    what a search leaves, to which a change that it missed seems noise.

    Parameters
    ----------
    times : array
        At least 20.
    """
    length = math.ceil(len(times) / _MAX_POINTS)
    logs, lead = without_outliers(_blocks(np.log(times), length))
    logs = logs[lead:]
    independent, correlated = _noise_of_neighbours(logs)
    marginal = long_run = independent
    for _ in range(2):
        ends, _cost = change_points(logs, _penalty(long_run, len(logs)))
        marginal, around = _noise_around(logs, ends)
        long_run = min(correlated, around)
    equal = EQUAL_IF_NOISY if marginal > NOISY else EQUAL
    inner = _changes(logs, _penalty(long_run, len(logs)), equal)
    ends = [(lead + end) * length for end in ([0, *inner] if lead else inner)]
    return Levels(list(zip([0, *ends], [*ends, len(times)])), equal)


def _penalty(noise: float, count: int) -> float:
    return 6 * noise**2 * math.log(count)


def _changes(logs: Array, penalty: float, equal: float) -> list[int]:
    """Return where the level changes; one change, where an exponential decay is over, if that fits better."""
    ends, cost = change_points(logs, penalty)
    if len(ends) == 1:
        return []
    decay = fit_decay(logs)
    if decay.height <= equal or decay.cost + penalty >= cost:
        return ends[:-1]
    return [min(math.ceil(decay.constant * math.log(decay.height / equal)), len(logs) - MIN_SIZE)]


def _blocks(logs: Array, length: int) -> Array:
    """Return medians of consecutive blocks; what is left over at the end is not looked at."""
    whole = len(logs) // length
    return medians(logs[: whole * length].reshape(whole, length))


def medians(rows: Array) -> Array:
    """Return the median of each row, NaN of one that has a NaN.

    NumPy's own imports its masked arrays first, which takes longer than a search.
    """
    middle = [(rows.shape[-1] - 1) // 2, rows.shape[-1] // 2]
    ordered = np.partition(rows, [*middle, -1], axis=-1)
    return np.where(np.isnan(ordered[..., -1]), np.nan, ordered[..., middle].sum(axis=-1) / 2)


# --- noise -----------------------------------------------------------------------------------------


def without_outliers(logs: Array) -> tuple[Array, int]:
    """Replace lone outliers, for the search only: farther than 3 (P90 - P10) from the median around them.

    Parameters
    ----------
    logs : array
        Logarithms of times, at least 11.

    Returns
    -------
    (array, int)
        The logarithms, in which fewer than ``MIN_SIZE`` consecutive outliers are replaced by that median, and
        how many there are at the very beginning: several slow steps, or one that no other reaches.
    """
    windows = np.lib.stride_tricks.sliding_window_view(logs, 2 * MIN_SIZE + 1)
    around = np.pad(medians(windows), MIN_SIZE, mode="edge")
    ordered = np.sort(logs - around).tolist()
    low, high = percentile(ordered, 10), percentile(ordered, 90)
    far = np.abs(logs - around) > 3 * (high - low)
    runs = np.flatnonzero(np.diff(far, prepend=False, append=False)).reshape(-1, 2).tolist()
    cleaned, lead = logs.copy(), 0
    for start, end in runs:
        if end - start < MIN_SIZE:
            cleaned[start:end] = around[start:end]
            if start == 0 and logs[0] > around[0] and (end > 1 or logs[0] == logs.max()):
                lead = end
    return cleaned, lead


def _noise_of_neighbours(logs: Array) -> tuple[float, float]:
    """Return the long-run noise, from differences of neighbours, which a change of level touches once.

    Their median size gives it; their correlation is ``(r - 1) / 2`` in a first-order autoregression.

    Returns
    -------
    (float, float)
        If the points were independent, and as they are correlated.
    """
    differences = np.diff(logs)
    size = float(medians(np.abs(differences))) / NORMAL_QUARTILE
    clipped = np.clip(differences, -3 * size, 3 * size)
    square = float(clipped @ clipped)
    r = 1 + 2 * float(clipped[:-1] @ clipped[1:]) / square if square else 0.0
    independent = size / math.sqrt(2)
    correlated = independent / math.sqrt(1 - _bounded(r)) * _long_run(r)
    return max(_MIN_NOISE, independent), max(_MIN_NOISE, correlated)


def _bounded(r: float) -> float:
    return min(max(0.0, r), _MAX_CORRELATION)


def _long_run(r: float) -> float:
    """Return how much more noise the mean of many points sees in a first-order autoregression."""
    return math.sqrt((1 + _bounded(r)) / (1 - _bounded(r)))


def _noise_around(logs: Array, ends: list[int]) -> tuple[float, float]:
    """Return the standard deviation around levels and the long-run noise.

    Fitting levels makes the correlation too small, by ``(1 + 3 r) / n`` each (Marriott & Pope, Biometrika 41, 1954).
    """
    rest = np.concatenate([part - part.mean() for part in np.split(logs, ends[:-1])])
    freedom = len(logs) - len(ends)
    variance = float(rest @ rest) / freedom
    if variance <= _MIN_NOISE**2:
        return _MIN_NOISE, _MIN_NOISE
    seen = float(rest[:-1] @ rest[1:]) / freedom / variance
    r = seen + (1 + 3 * max(0.0, seen)) * len(ends) / len(logs)
    return math.sqrt(variance), math.sqrt(variance) * _long_run(r)


# --- change points ---------------------------------------------------------------------------------


def change_points(series: Array, penalty: float) -> tuple[list[int], float]:
    """Return the segmentation of least cost: squared deviations from segment means plus a penalty a change.

    Optimal partitioning (Jackson et al., IEEE Signal Processing Letters 12, 2005), exact; it finds what PELT
    (Killick, Fearnhead & Eckley, JASA 107, 2012) finds. Segments have at least ``MIN_SIZE`` points.

    Parameters
    ----------
    series : array
        At least ``MIN_SIZE`` points.
    penalty : float
        For each change, in the squared unit of the series.

    Returns
    -------
    (list of int, float)
        The end of each segment, the last one included, and the cost.
    """
    count = len(series)
    centred = series - series.mean()
    sums = np.concatenate([[0.0], np.cumsum(centred)])
    squares = [0.0, *np.cumsum(centred**2).tolist()]
    open_cost = np.full(count + 1, np.inf)  # of all before a start, less the squares before it
    open_cost[0] = cost = -penalty
    before = [0] * (count + 1)
    for end, explained in _explained(sums):
        starts = end - MIN_SIZE + 1
        costs = open_cost[:starts] - explained[:starts]
        before[end] = best = int(costs.argmin())
        cost = float(costs[best]) + squares[end] + penalty
        open_cost[end] = cost - squares[end]
    ends = [count]
    while before[ends[-1]]:
        ends.append(before[ends[-1]])
    return ends[::-1], cost


def _explained(sums: Array) -> Iterator[tuple[int, Array]]:
    """Yield each end with what the means of the segments from every start to it explain, many ends at once."""
    count = len(sums) - 1
    rows = max(1, _EXPLAINED_AT_ONCE // count)
    for first in range(MIN_SIZE, count + 1, rows):
        ends = np.arange(first, min(first + rows, count + 1))
        explained = sums[ends, None] - sums[: ends[-1]]
        explained *= explained
        explained *= 1 / np.maximum(ends[:, None] - np.arange(ends[-1]), 1)
        yield from zip(ends.tolist(), explained)


@dataclass(frozen=True)
class Decay:
    """A level that is approached exponentially, ``level + height * exp(-i / constant)``; cost: squared errors."""

    height: float
    constant: float
    cost: float


def fit_decay(series: Array) -> Decay:
    """Return the exponential approach of a level that fits best, of time constants from 1 to half the series."""
    count = len(series)
    constants = np.geomspace(1, count / 2, 60)
    curves = np.exp(-np.arange(count) / constants[:, None])
    curves -= curves.mean(axis=1, keepdims=True)
    centred = series - series.mean()
    variances = (curves**2).sum(axis=1)
    heights = curves @ centred / variances
    costs = float(centred @ centred) - heights**2 * variances
    best = int(costs.argmin())
    return Decay(float(heights[best]), float(constants[best]), float(costs[best]))
