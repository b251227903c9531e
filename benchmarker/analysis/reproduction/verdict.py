"""Whether a number was reproduced: the rule, on the medians of processes alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from benchmarker.quick_dataclass import dataclass
from benchmarker.statistics import CONFIDENCE, MIN_PROCESSES, student_t_quantile

SAME = 0.02
"""Step times that differ by less count as the same, however narrow the interval."""
MAX_HALF_WIDTH = 0.10
"""A ratio that is known less well than this tells nothing, even if 1 is within its interval."""
MAX_PROCESSES = 100
"""More are not proposed."""

REPRODUCED, NOT_REPRODUCED, CANNOT_TELL = "reproduced", "not reproduced", "cannot tell"
WELCH = "Welch's t on the logarithms of the processes' medians"
POOLED = (
    "Student's t on the logarithms of the processes' medians; the spread of the side with more processes "
    "stands for both"
)


@dataclass(frozen=True)
class Verdict:
    """What the numbers of two sides say.

    Parameters
    ----------
    verdict : {"reproduced", "not reproduced", "cannot tell"}
        By the rule of :func:`judge`.
    ratio : float
        Step time now over that of the original; geometric means.
    ci95 : tuple of float or None
        95 % interval of the ratio; ``None`` where fewer than three processes are on both sides.
    method : str or None
        Of the interval.
    needed : int or None
        Where nothing can be told, how many new processes would narrow the interval enough; ``None`` if no
        reasonable number would, since there are too few of the original.
    """

    verdict: str
    ratio: float
    ci95: tuple[float, float] | None
    method: str | None
    needed: int | None


@dataclass(frozen=True)
class Side:
    """Mean and variance of the logarithms of one side."""

    count: int
    mean: float
    variance: float

    @property
    def squares(self) -> float:
        return self.variance * (self.count - 1)


def judge(original: Sequence[float], now: Sequence[float]) -> Verdict:
    """Return whether a number was reproduced.

    It is *not reproduced* if the 95 % interval of the ratio leaves out 1 and is not within 2 % of it. It is
    *reproduced* if the interval is within 2 % of 1, or contains 1 and reaches at most 10 % from its centre. If it
    contains 1 and is wider, or there is none, nothing can be told.

    Parameters
    ----------
    original, now : sequence of float
        The median step of each process in seconds, positive; at least one.
    """
    old, new = side_of(original), side_of(now)
    ratio = math.exp(new.mean - old.mean)
    half = _half_width(old, new)
    if half is None:
        return Verdict(CANNOT_TELL, ratio, None, None, MIN_PROCESSES)
    ci95 = (ratio * math.exp(-half), ratio * math.exp(half))
    verdict = _verdict(ci95, half)
    return Verdict(
        verdict=verdict,
        ratio=ratio,
        ci95=ci95,
        method=WELCH if min(old.count, new.count) >= MIN_PROCESSES else POOLED,
        needed=_needed(old, new) if verdict == CANNOT_TELL else None,
    )


def _verdict(ci95: tuple[float, float], half: float) -> str:
    low, high = ci95
    if low >= 1 / (1 + SAME) and high <= 1 + SAME:
        return REPRODUCED
    if not low <= 1 <= high:
        return NOT_REPRODUCED
    return REPRODUCED if half <= math.log1p(MAX_HALF_WIDTH) else CANNOT_TELL


def side_of(medians: Sequence[float]) -> Side:
    """Return mean and variance of the logarithms of positive values; at least one."""
    logs = [math.log(median) for median in medians]
    count = len(logs)
    mean = math.fsum(logs) / count
    variance = math.fsum((x - mean) ** 2 for x in logs) / (count - 1) if count > 1 else 0.0
    return Side(count, mean, variance)


def _half_width(old: Side, new: Side) -> float | None:
    """Return half the width of the interval of the ratio's logarithm; None if the spread is not known."""
    if max(old.count, new.count) < MIN_PROCESSES:
        return None
    pooled = min(old.count, new.count) < MIN_PROCESSES
    error, degrees = _pooled(old, new) if pooled else welch(old, new)
    return student_t_quantile(0.5 + CONFIDENCE / 2, degrees) * error


def _pooled(old: Side, new: Side) -> tuple[float, int]:
    degrees = old.count + new.count - 2
    variance = (old.squares + new.squares) / degrees
    return math.sqrt(variance * (1 / old.count + 1 / new.count)), degrees


def welch(old: Side, new: Side) -> tuple[float, int]:
    """Return standard error and degrees of freedom (Welch 1947, Satterthwaite 1946), rounded down."""
    parts = [(side.variance / side.count, side.count - 1) for side in (old, new)]
    total = math.fsum(part for part, _ in parts)
    if total == 0:
        return 0.0, min(degrees for _, degrees in parts)
    return math.sqrt(total), int(total**2 / math.fsum(part**2 / degrees for part, degrees in parts))


def _needed(old: Side, new: Side) -> int | None:
    """Return how many new processes of the present spread make the interval narrow enough."""
    for count in range(max(MIN_PROCESSES, new.count + 1), MAX_PROCESSES + 1):
        half = _half_width(old, replace(new, count=count))
        if half is not None and half <= math.log1p(MAX_HALF_WIDTH):
            return count
    return None
