"""Summaries and confidence intervals, with the standard library alone, since the worker uses them too."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from benchmarker.quick_dataclass import dataclass

CONFIDENCE = 0.95
WITHIN = "within one process"
METHOD = "order statistics whose ranks allow for autocorrelation (equal-weighted cosines, Student's t)"
PERCENTILES = (5, 25, 75, 90, 95, 99)
MIN_FOR_INTERVAL = 12
"""With fewer correlated samples even the shortest and the longest enclose the median in under 94 % of runs."""
MIN_PROCESSES = 3

_MIN_WAVES, _MAX_WAVES = 3, 40
# Slow waves are all that is looked at, so what is shorter than a block of these does not matter.
_MAX_BLOCKS = 250


@dataclass(frozen=True)
class Summary:
    """Statistics of the samples of one process, all in the samples' unit.

    The fields are those of a record's ``timing.step_seconds``.

    Parameters
    ----------
    count : int
        Number of samples.
    median : float
        The 50th percentile.
    ci95 : tuple of float or None
        95 % confidence interval of the median of this process; ``None`` if there are too few samples.
    ci95_reason : str or None
        Why there is no interval.
    ci95_level : str
        The level of replication that the interval speaks of.
    ci95_method : str
        How it was computed.
    std : float or None
        Standard deviation of the sample (divided by ``count - 1``); ``None`` for one sample.
    p5, p25, p75, p90, p95, p99 : float or None
        Percentiles by linear interpolation (NumPy's default); ``None`` where the samples do not bound them.
    percentiles_reason : dict of str to str
        Why a percentile is absent, by its name.
    """

    count: int
    median: float
    ci95: tuple[float, float] | None
    ci95_reason: str | None
    ci95_level: str
    ci95_method: str
    mean: float
    std: float | None
    min: float
    max: float
    p5: float | None
    p25: float | None
    p75: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    percentiles_reason: dict[str, str]


def summarise(samples: Sequence[float], *, block_steps: int = 1) -> Summary:
    """Return the statistics of the samples of one process.

    Parameters
    ----------
    samples : sequence of float
        Seconds per step of the steady part, in the order in which they were taken.
    block_steps : int
        Steps that a sample is the mean of.

    Raises
    ------
    ValueError
        If there are no samples or one of them is not finite.
    """
    values, absent = describe_bounded(samples, block_steps=block_steps)
    count = len(samples)
    enough = count >= MIN_FOR_INTERVAL
    return Summary(
        ci95=median_interval(samples) if enough else None,
        ci95_reason=None if enough else _no_interval(count),
        ci95_level=WITHIN,
        ci95_method=METHOD,
        percentiles_reason=absent,
        **values,  # type: ignore[arg-type]
    )


def describe_bounded(
    samples: Sequence[float], *, block_steps: int = 1
) -> tuple[dict[str, float | None], dict[str, str]]:
    """Return what :func:`describe` does, ``None`` for percentiles that are not bounded, and why they are not.

    Raises
    ------
    ValueError
        If there are no samples or one of them is not finite.
    """
    values, count = describe(samples), len(samples)
    reasons = {f"p{percent}": _unbounded(percent, count, block_steps) for percent in PERCENTILES}
    absent = {name: reason for name, reason in reasons.items() if reason}
    return {**values, **dict.fromkeys(absent)}, absent


def describe(samples: Sequence[float]) -> dict[str, float | None]:
    """Return count, median, mean, standard deviation, extremes and all percentiles, bounded or not, by name.

    Raises
    ------
    ValueError
        If there are no samples or one of them is not finite.
    """
    ordered = sorted(samples)
    if not ordered:
        raise ValueError("there are no samples to summarise")
    if not all(map(math.isfinite, ordered)):
        raise ValueError("samples must be finite numbers")
    count = len(ordered)
    mean = math.fsum(ordered) / count
    return {
        "count": count,
        "median": percentile(ordered, 50),
        "mean": mean,
        "std": math.sqrt(math.fsum([(x - mean) ** 2 for x in ordered]) / (count - 1)) if count > 1 else None,
        "min": ordered[0],
        "max": ordered[-1],
        **{f"p{percent}": percentile(ordered, percent) for percent in PERCENTILES},
    }


def median(values: Iterable[float]) -> float:
    """Return the middle value, between the two middle ones of an even number; NaN of none, or if one is NaN.

    The standard library's refuses none and overlooks NaN; NumPy's imports its masked arrays first, which takes longer
    than all the medians of a run.
    """
    ordered = sorted(values)
    if not ordered or any(map(math.isnan, ordered)):
        return math.nan
    half = len(ordered) // 2
    return float((ordered[half] + ordered[~half]) / 2)


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Return a percentile of samples in ascending order, by linear interpolation (NumPy's default)."""
    position = (len(ordered) - 1) * percent / 100
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    low, high = ordered[below], ordered[above]
    # Clamped, because rounding may step outside two equal neighbours.
    return min(max(low + (high - low) * (position - below), low), high)


@cache
def fewest_for_percentile(percent: float) -> int:
    """Return how many independent samples bound a percentile on its outer side with 95 % confidence.

    The farthest of ``n`` samples lies beyond the percentile with probability ``1 - q**n``, where ``q`` is
    the probability of the inner side (David & Nagaraja, Order Statistics, 3rd ed., section 7.1).
    """
    inner = max(percent, 100 - percent) / 100
    return math.ceil(math.log(1 - CONFIDENCE) / math.log(inner))


def _unbounded(percent: float, count: int, block_steps: int) -> str | None:
    if block_steps > 1:
        return f"a sample is the mean of a block of {block_steps} steps"
    fewest = fewest_for_percentile(percent)
    if count >= fewest:
        return None
    return f"needs at least {fewest} samples to be bounded with 95 % confidence, there are {count}"


def _no_interval(count: int) -> str:
    return f"a 95 % interval of the median needs at least {MIN_FOR_INTERVAL} samples, there are {count}"


def median_interval(samples: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % confidence interval of the median of one process, allowing for autocorrelation.

    The share of samples below the median is one half but for an error, whose variance is the long-run
    variance of the samples' signs over their number. That is the mean square of the first ``k`` cosine
    transforms of the signs, and has ``k`` degrees of freedom (equal-weighted cosines: Lazarus, Lewis, Stock &
    Watson, J. Business & Economic Statistics 36, 2018). The interval reaches from the sample at one half
    minus Student's t times the error to the sample at one half plus that. It needs no density, so it is the
    same for times and for their logarithms.

    Parameters
    ----------
    samples : sequence of float
        In the order in which they were taken; at least one.
    """
    ordered = sorted(samples)
    count = len(ordered)
    median = percentile(ordered, 50)
    variance, degrees = _long_run_variance([(x > median) - (x < median) for x in samples])
    error = student_t_quantile(0.5 + CONFIDENCE / 2, degrees) * math.sqrt(variance / count) / 2
    rank = min(max(0, math.floor((0.5 - error) * count)), (count - 1) // 2)
    return ordered[rank], ordered[count - 1 - rank]


def _long_run_variance(values: Sequence[int]) -> tuple[float, int]:
    """Return the variance that the mean of a stationary series has, times its length, and its freedom."""
    count = len(values)
    length = math.ceil(count / _MAX_BLOCKS)
    blocks = [sum(values[i : i + length]) for i in range(0, count, length)]
    squares = [math.fsum(map(operator.mul, blocks, cosine)) ** 2 for cosine in _cosines(count, length)]
    return 2 / count * math.fsum(squares) / len(squares), len(squares)


@lru_cache(maxsize=16)
def _cosines(count: int, length: int) -> tuple[tuple[float, ...], ...]:
    """Return the first cosines of so many values at the middles of blocks of that length."""
    waves = min(_MAX_WAVES, max(_MIN_WAVES, round(0.4 * count ** (2 / 3))))
    middles = [i + length / 2 for i in range(0, count, length)]
    paces = [math.pi * wave / count for wave in range(1, waves + 1)]
    return tuple(tuple(math.cos(pace * middle) for middle in middles) for pace in paces)


@dataclass(frozen=True)
class Estimate:
    """What several processes say together.

    Parameters
    ----------
    count : int
        Number of processes, or of pairs of them.
    centre : float
        Geometric mean of their values.
    ci95 : tuple of float or None
        95 % confidence interval of the centre, Student's t on the logarithms.
    half_width : float or None
        Relative: the upper end of the interval is ``1 + half_width`` times the centre.
    reason : str or None
        Why there is no interval.
    """

    count: int
    centre: float
    ci95: tuple[float, float] | None
    half_width: float | None
    reason: str | None


def across_processes(medians: Sequence[float]) -> Estimate:
    """Return centre and interval of a quantity of which each process gave one value, e.g. its median step.

    Raises
    ------
    ValueError
        If there are none or one is not a positive finite number.
    """
    logs = _logs(medians)
    count, centre = len(logs), math.exp(math.fsum(logs) / len(logs))
    if count < MIN_PROCESSES:
        reason = f"an interval needs at least {MIN_PROCESSES} processes, there {are(count)}"
        return Estimate(count, centre, None, None, reason)
    interval = _interval_of_logs(logs)
    return Estimate(count, centre, interval, interval[1] / centre - 1, None)


def paired_ratio(a: Sequence[float], b: Sequence[float]) -> Estimate:
    """Return the ratio ``a / b`` and its interval from pairs of processes: a paired t test on logarithms.

    Parameters
    ----------
    a, b : sequence of float
        One positive value per process; those at the same place ran back to back.

    Raises
    ------
    ValueError
        If the lengths differ, there are none or one is not a positive finite number.
    """
    if len(a) != len(b):
        raise ValueError(f"pairs need as many values on both sides, got {len(a)} and {len(b)}")
    _logs([*a, *b])
    return across_processes([x / y for x, y in zip(a, b)])


def are(count: int) -> str:
    """Return a count after ``there``, e.g. ``"is 1"`` or ``"are 3"``."""
    return "is 1" if count == 1 else f"are {count}"


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive values.

    Raises
    ------
    ValueError
        If there are none or one is not a positive finite number.
    """
    logs = _logs(values)
    return math.exp(math.fsum(logs) / len(logs))


def student_t_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the confidence interval of the geometric mean of values from independent processes.

    Student's t on the logarithms: ``exp(mean +- t * s / sqrt(n))``.

    Parameters
    ----------
    values : sequence of float
        One positive value per process, e.g. its median step.

    Raises
    ------
    ValueError
        If there are fewer than two values or one is not a positive finite number.
    """
    logs = _logs(values)
    if len(logs) < 2:
        raise ValueError(f"an interval between processes needs at least 2 of them, there is {len(logs)}")
    return _interval_of_logs(logs)


def _interval_of_logs(logs: Sequence[float]) -> tuple[float, float]:
    count = len(logs)
    mean = math.fsum(logs) / count
    deviation = math.sqrt(math.fsum([(x - mean) ** 2 for x in logs]) / (count - 1))
    half = student_t_quantile(0.5 + CONFIDENCE / 2, count - 1) * deviation / math.sqrt(count)
    return math.exp(mean - half), math.exp(mean + half)


def _logs(values: Sequence[float]) -> list[float]:
    if not values:
        raise ValueError("there are no values to average")
    if not all(map(math.isfinite, values)) or min(values) <= 0:
        raise ValueError("a geometric mean needs positive finite values")
    return [math.log(x) for x in values]


@cache
def student_t_quantile(probability: float, degrees: int) -> float:
    """Return the quantile of Student's t distribution for a whole number of degrees of freedom.

    Bisection on the angle ``atan(t / sqrt(degrees))``, in which the distribution is a finite sum.

    Raises
    ------
    ValueError
        If ``probability`` is not inside (0, 1) or ``degrees`` is below 1.
    """
    if not 0 < probability < 1:
        raise ValueError(f"a probability must be between 0 and 1, got {probability}")
    if degrees < 1:
        raise ValueError(f"degrees of freedom must be at least 1, got {degrees}")
    central = abs(2 * probability - 1)
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        if _central_t(middle, degrees) < central:
            low = middle
        else:
            high = middle
    return math.copysign(math.sqrt(degrees) * math.tan(low), probability - 0.5)


def student_t_tail(value: float, degrees: int) -> float:
    """Return the probability that Student's t with a whole number of degrees of freedom is above a value.

    Raises
    ------
    ValueError
        If ``degrees`` is below 1.
    """
    if degrees < 1:
        raise ValueError(f"degrees of freedom must be at least 1, got {degrees}")
    beyond = max(0.0, 1 - _central_t(math.atan(abs(value) / math.sqrt(degrees)), degrees)) / 2
    return beyond if value >= 0 else 1 - beyond


def _central_t(angle: float, degrees: int) -> float:
    """Return ``P(|T| < sqrt(degrees) * tan(angle))`` (Abramowitz & Stegun, 26.7.3 and 26.7.4)."""
    odd = degrees % 2
    square = math.cos(angle) ** 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for k in range(2 + odd, degrees + 1, 2):
        total += term
        term *= square * (k - 1) / k
    if odd:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values that may each be held against the level of the whole family, in the same order.

    The smallest of ``K`` is multiplied by ``K``, the next by ``K - 1`` and so on, and none is below one before
    it (Holm, Scandinavian Journal of Statistics 6, 1979). It needs no independence.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    found = [0.0] * len(p_values)
    largest = 0.0
    for place, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[i]))
        found[i] = largest
    return found
