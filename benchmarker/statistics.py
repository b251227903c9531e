"""Summaries and confidence intervals, with the standard library alone, since the worker uses them too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

PERCENTILES = (5, 25, 75, 90, 95, 99)
CONFIDENCE = 0.95
WITHIN = "within one process"
FEWEST_FOR_INTERVAL = 6


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
        Nonparametric 95 % confidence interval of the median; ``None`` if there are too few samples.
    ci95_reason : str or None
        Why there is no interval.
    ci95_level : str
        The level of replication that the interval speaks of.
    ci95_coverage : float or None
        The interval's exact coverage for independent samples, at least 0.95.
    std : float or None
        Standard deviation of the sample (divided by ``count - 1``); ``None`` for one sample.
    p5, p25, p75, p90, p95, p99 : float
        Percentiles by linear interpolation (NumPy's default).
    """

    count: int
    median: float
    ci95: tuple[float, float] | None
    ci95_reason: str | None
    ci95_level: str
    ci95_coverage: float | None
    mean: float
    std: float | None
    min: float
    max: float
    p5: float
    p25: float
    p75: float
    p90: float
    p95: float
    p99: float


def summarise(samples: Sequence[float]) -> Summary:
    """Return the statistics of the samples of one process.

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
    ranks = median_interval_ranks(count)
    return Summary(
        count=count,
        median=_percentile(ordered, 50),
        ci95=None if ranks is None else (ordered[ranks[0] - 1], ordered[ranks[1] - 1]),
        ci95_reason=_no_interval(count) if ranks is None else None,
        ci95_level=WITHIN,
        ci95_coverage=None if ranks is None else ranks[2],
        mean=mean,
        std=math.sqrt(math.fsum((x - mean) ** 2 for x in ordered) / (count - 1)) if count > 1 else None,
        min=ordered[0],
        max=ordered[-1],
        p5=_percentile(ordered, 5),
        p25=_percentile(ordered, 25),
        p75=_percentile(ordered, 75),
        p90=_percentile(ordered, 90),
        p95=_percentile(ordered, 95),
        p99=_percentile(ordered, 99),
    )


def _no_interval(count: int) -> str:
    return f"a 95 % interval of the median needs at least {FEWEST_FOR_INTERVAL} samples, there are {count}"


def _percentile(ordered: Sequence[float], percent: float) -> float:
    position = (len(ordered) - 1) * percent / 100
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    low, high = ordered[below], ordered[above]
    # Clamped, because rounding may step outside two equal neighbours.
    return min(max(low + (high - low) * (position - below), low), high)


def median_interval_ranks(count: int, confidence: float = CONFIDENCE) -> tuple[int, int, float] | None:
    """Return the order statistics that enclose the median with at least the given confidence.

    The number of samples below the median of any continuous distribution is binomial with
    probability 1/2, so the ``k``-th smallest and the ``k``-th largest sample enclose the median with
    probability ``1 - 2 P(B < k)`` (David & Nagaraja, Order Statistics, 3rd ed., section 7.1).

    Returns
    -------
    (int, int, float) or None
        Ranks from 1 of the lower and upper end, and the exact coverage for independent samples;
        ``None`` if even the smallest and the largest sample do not suffice.
    """
    allowed = (1 - confidence) / 2
    # Below eight standard deviations the tail is under 1e-15 and adds nothing.
    start = max(0, math.floor(count / 2 - 4 * math.sqrt(count)) - 1)
    rank, tail = start, 0.0
    while rank < count / 2:
        more = tail + _half_binomial(rank, count)
        if more > allowed:
            break
        rank, tail = rank + 1, more
    if rank == start:
        return None
    return rank, count + 1 - rank, 1 - 2 * tail


def _half_binomial(k: int, count: int) -> float:
    """Return the probability of ``k`` heads in ``count`` tosses of a fair coin."""
    log_ways = math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
    return math.exp(log_ways - count * math.log(2))


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive values.

    Raises
    ------
    ValueError
        If there are none or one is not a positive finite number.
    """
    logs = _logs(values)
    return math.exp(math.fsum(logs) / len(logs))


def student_t_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the confidence interval of the geometric mean of values from independent processes.

    Student's t on the logarithms: ``exp(mean +- t * s / sqrt(n))``.

    Parameters
    ----------
    values : sequence of float
        One positive value a process, e.g. its median step.
    confidence : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If there are fewer than two values or one is not a positive finite number.
    """
    logs = _logs(values)
    count = len(logs)
    if count < 2:
        raise ValueError(f"an interval between processes needs at least 2 of them, there is {count}")
    mean = math.fsum(logs) / count
    deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in logs) / (count - 1))
    half = student_t_quantile(0.5 + confidence / 2, count - 1) * deviation / math.sqrt(count)
    return math.exp(mean - half), math.exp(mean + half)


def _logs(values: Sequence[float]) -> list[float]:
    if not values:
        raise ValueError("there are no values to average")
    if not all(math.isfinite(x) and x > 0 for x in values):
        raise ValueError("a geometric mean needs positive finite values")
    return [math.log(x) for x in values]


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
