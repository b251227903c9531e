"""Times to a target that some runs did not reach: such a run is censored where it ended, never left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
import numpy.typing as npt

from benchmarker.quick_dataclass import dataclass
from benchmarker.statistics import CONFIDENCE

MAX_ARRANGEMENTS = 200_000
"""Of the labels of two groups: beyond this so many are drawn instead of all being tried."""
DRAWN_ARRANGEMENTS = 20_000
_SLACK = 1e-9
_MAX_ELEMENTS = 1_000_000
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Time:
    """A run's time to its target, or until it ended without.

    Parameters
    ----------
    value : float
        Steps or seconds.
    reached : bool
        Whether it was reached; if not, it takes longer than this.
    """

    value: float
    reached: bool = True

    @property
    def least(self) -> float:
        """The value, infinite for a run that did not reach it."""
        return self.value if self.reached else math.inf


def median_time(times: Sequence[Time]) -> float:
    """Return the median, infinite where half of the runs and more did not reach the target."""
    return median(time.least for time in times)


def median_interval(times: Sequence[Time], confidence: float = 0.95) -> tuple[float, float] | None:
    """Return the interval of the median from the sign test: two order statistics, as far from either end.

    It covers the median at least as often as asked, whatever the distribution (Hahn & Meeker 1991, section 5.2); a
    run that did not reach the target is slower than all that did, so an end may be infinite.

    Parameters
    ----------
    times : sequence of Time
        Independent runs.
    confidence : float
        Of the interval.

    Returns
    -------
    tuple of float or None
        None where even the first and the last run cover it less often: below six runs for 95 %.
    """
    tail = (1.0 - confidence) / 2.0
    runs = len(times)
    outside = next(k for k in range(runs + 1) if _at_most(k, runs, 0.5) > tail)
    if outside == 0:
        return None
    ordered = sorted(time.least for time in times)
    return ordered[outside - 1], ordered[runs - outside]


def olympic_mean(times: Sequence[Time]) -> float | None:
    """Return the mean without the fastest and the slowest run (MLPerf); None for fewer than three.

    A run that did not reach the target is the slowest; with two of them it is infinite.
    """
    if len(times) < 3:
        return None
    kept = sorted(time.least for time in times)[1:-1]
    return sum(kept) / len(kept)


def share_interval(reached: int, runs: int) -> tuple[float, float]:
    """Return the exact interval of a share, which covers it at least as often (Clopper & Pearson 1934).

    Parameters
    ----------
    reached, runs : int
        So many of so many.
    """
    tail = (1.0 - CONFIDENCE) / 2.0
    low = 0.0 if reached == 0 else _solved(lambda share: 1.0 - _at_most(reached - 1, runs, share), tail)
    high = 1.0 if reached == runs else _solved(lambda share: 1.0 - _at_most(reached, runs, share), 1.0 - tail)
    return low, high


def _at_most(count: int, runs: int, share: float) -> float:
    """Return the probability of at most so many successes."""
    return math.fsum(math.comb(runs, k) * share**k * (1.0 - share) ** (runs - k) for k in range(count + 1))


def _solved(rising: Callable[[float], float], wanted: float) -> float:
    """Return where a function that rises from 0 to 1 has a value."""
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2.0
        low, high = (middle, high) if rising(middle) < wanted else (low, middle)
    return (low + high) / 2.0


def log_rank_p(first: Sequence[Time], second: Sequence[Time], *, faster: bool = False) -> float:
    """Return how probable so large a difference between two groups is if they are of one distribution.

    The log-rank test by permutation: every arrangement of the labels, or so many drawn ones.

    Parameters
    ----------
    first, second : sequence of Time
        At least one each.
    faster : bool
        Whether only a first group that is faster counts; else the test is two-sided.
    """
    scores = _log_rank_scores([*first, *second])
    size, centre = len(first), sum(scores) * len(first) / len(scores)
    measure: Callable[[Floats], Floats] = np.positive if faster else np.abs
    found = measure(np.asarray(sum(scores[:size]) - centre)) - _SLACK
    if math.comb(len(scores), size) <= MAX_ARRANGEMENTS:
        return float(np.mean(measure(_sums(scores, size) - centre) >= found))
    as_far = np.count_nonzero(measure(_drawn_sums(scores, size) - centre) >= found)
    return float(as_far + 1) / (DRAWN_ARRANGEMENTS + 1)


def paired_log_rank_p(first: Sequence[Time], second: Sequence[Time]) -> float:
    """Return how probable so large a difference between two groups is if either of each pair could be the other.

    The scores are those of the log-rank test of all runs; the labels change within pairs only: every arrangement, or
    so many drawn ones (O'Brien & Fleming 1987 do so with Prentice's scores). Two-sided.

    Parameters
    ----------
    first, second : sequence of Time
        As many in each; those at the same place are a pair.
    """
    scores = _log_rank_scores([*first, *second])
    pairs = np.subtract(scores[: len(first)], scores[len(first) :])
    found = abs(float(pairs.sum())) - _SLACK
    if 2 ** len(pairs) <= MAX_ARRANGEMENTS:
        sums = np.zeros(1)
        for pair in pairs:
            sums = np.concatenate([sums + pair, sums - pair])
        return float(np.mean(np.abs(sums) >= found))
    signs = np.random.default_rng(0).choice((-1.0, 1.0), (DRAWN_ARRANGEMENTS, len(pairs)))
    return float(np.count_nonzero(np.abs(signs @ pairs) >= found) + 1) / (DRAWN_ARRANGEMENTS + 1)


def least_paired_p(pairs: int) -> float:
    """Return the least that :func:`paired_log_rank_p` of so many pairs can be."""
    return max(2.0 ** (1 - pairs), 1.0 / (DRAWN_ARRANGEMENTS + 1))


def _sums(scores: Sequence[float], size: int) -> Floats:
    """Return the sum of every choice of so many scores."""
    if 2 * size > len(scores):  # there are no more choices of the others, but more on the way to them
        return math.fsum(scores) - _sums(scores, len(scores) - size)
    spare = len(scores) - size
    # Room for those alone that what is left can still make a choice of so many of.
    of_size = [np.zeros(math.comb(spare + chosen, chosen)) for chosen in range(size + 1)]
    counts = [1] + [0] * size
    for place, score in enumerate(scores):
        for chosen in range(min(size, place + 1), max(0, place - spare), -1):
            old, more = counts[chosen], counts[chosen - 1]
            np.add(of_size[chosen - 1][:more], score, out=of_size[chosen][old : old + more])
            counts[chosen] += more
    return of_size[size]


def _drawn_sums(scores: Sequence[float], size: int) -> Floats:
    """Return the sum of so many scores for each of the arrangements that are drawn, a part of them at a time."""
    generator = np.random.default_rng(0)
    rows = max(1, _MAX_ELEMENTS // len(scores))
    counts = [min(rows, DRAWN_ARRANGEMENTS - done) for done in range(0, DRAWN_ARRANGEMENTS, rows)]
    parts = (generator.permuted(np.tile(scores, (count, 1)), axis=1) for count in counts)
    return np.concatenate([part[:, :size].sum(axis=1) for part in parts])


def excess(first: Sequence[Time], second: Sequence[Time]) -> float:
    """Return by how many targets the first group is behind what the hazard of both together lets expect."""
    scores = _log_rank_scores([*first, *second])
    return -sum(scores[: len(first)])


def _log_rank_scores(times: Sequence[Time]) -> list[float]:
    """Return of each run 1 if it reached the target, less the hazard that all together have had until then."""
    hazard, passed = 0.0, {}
    for value in sorted({time.value for time in times}):
        events = sum(time.reached and time.value == value for time in times)
        at_risk = sum(time.value >= value for time in times)
        hazard += events / at_risk
        passed[value] = hazard
    return [float(time.reached) - passed[time.value] for time in times]
