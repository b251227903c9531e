"""How many fresh processes a number needs: the stopping rule and the order in which processes run."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from benchmarker.experiment.precision import Precision
from benchmarker.quick_dataclass import dataclass
from benchmarker.statistics import CONFIDENCE, MIN_PROCESSES, Estimate, across_processes, student_t_quantile

MIN_FOR_FORECAST = 5
"""The spread between fewer processes is too uncertain to say how many more are needed."""
# Student's t and the normal distribution differ by less than 0.1 % from here on.
_MAX_DEGREES = 1000


def requested_replication(precision: Precision | None, processes: int) -> dict[str, Any]:
    """Return what was asked for in the words of a record's ``replication``.

    Parameters
    ----------
    precision : Precision or None
        How well each number should be known.
    processes : int
        How many there are of each cell where no precision was asked for.
    """
    return {
        "profile": precision.profile if precision else None,
        "target_half_width": precision.half_width if precision else None,
        "min_processes": precision.min_processes if precision else processes,
        "max_processes": precision.max_processes if precision else processes,
        "budget_seconds": precision.budget_seconds if precision else None,
    }


@dataclass(frozen=True)
class Decision:
    """Whether there have been enough processes, and how far the number is known.

    Parameters
    ----------
    stop_reason : str or None
        ``precision``, ``max_processes``, ``time_budget``, or ``None`` to go on.
    not_met : tuple of str
        On stopping, what was asked for and is not reached, each with its numbers.
    processes : int
        How many there have been.
    centre : float or None
        Geometric mean of their medians; ``None`` without processes.
    ci95 : tuple of float or None
        95 % interval of the centre between processes.
    half_width : float or None
        The relative half-width of it.
    expected_processes : int or None
        How many are needed in all at the present noise; ``None`` if it is too early to tell.
    expected_seconds : float or None
        How much longer that takes.
    """

    stop_reason: str | None
    not_met: tuple[str, ...]
    processes: int
    centre: float | None
    ci95: tuple[float, float] | None
    half_width: float | None
    expected_processes: int | None
    expected_seconds: float | None


def decide(precision: Precision, medians: Sequence[float], elapsed_seconds: float) -> Decision:
    """Return whether to start another process: the rule looks at the precision reached, never at a difference.

    Stopping as soon as a difference is significant finds one between equal programs in 18 to 23 % of
    comparisons; stopping on the interval's width keeps its coverage, if there are enough processes at least.

    Parameters
    ----------
    precision : Precision
        What was asked for.
    medians : sequence of float
        The median step of each process so far, positive.
    elapsed_seconds : float
        What these processes took.
    """
    count = len(medians)
    across = across_processes(medians) if medians else None
    stop_reason = _stop_reason(precision, count, across, elapsed_seconds)
    needed = processes_needed(medians, precision) if count >= MIN_FOR_FORECAST else None
    return Decision(
        stop_reason=stop_reason,
        not_met=tuple(_not_met(precision, count, across)) if stop_reason else (),
        processes=count,
        centre=across.centre if across else None,
        ci95=across.ci95 if across else None,
        half_width=across.half_width if across else None,
        expected_processes=needed,
        expected_seconds=None if needed is None else max(0, needed - count) * elapsed_seconds / count,
    )


def _stop_reason(precision: Precision, count: int, across: Estimate | None, elapsed: float) -> str | None:
    if count >= precision.min_processes and _is_precise(precision, across):
        return "precision"
    if count >= precision.max_processes:
        return "max_processes"
    if elapsed >= precision.budget_seconds:
        return "time_budget"
    return None


def _is_precise(precision: Precision, across: Estimate | None) -> bool:
    return across is not None and across.half_width is not None and across.half_width <= precision.half_width


def _not_met(precision: Precision, count: int, across: Estimate | None) -> list[str]:
    missing = []
    wanted = f"at most {_percent(precision.half_width)}"
    if count < precision.min_processes:
        missing.append(f"{count} of at least {precision.min_processes} processes")
    if across is None or across.half_width is None:
        missing.append(f"half-width {wanted}, there is no interval yet")
    elif not _is_precise(precision, across):
        missing.append(f"half-width {wanted}, it is {_percent(across.half_width)}")
    return missing


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def processes_needed(medians: Sequence[float], precision: Precision) -> int:
    """Return how many processes of the present spread give the half-width that was asked for.

    Parameters
    ----------
    medians : sequence of float
        At least two, positive.
    precision : Precision
        The half-width, and the fewest processes.
    """
    logs = [math.log(median) for median in medians]
    mean = math.fsum(logs) / len(logs)
    deviation = math.sqrt(math.fsum([(x - mean) ** 2 for x in logs]) / (len(logs) - 1))
    return max(precision.min_processes, count_for(deviation, precision.half_width))


def count_for(deviation: float, half_width: float) -> int:
    """Return the fewest processes whose 95 % interval is as narrow, ``t * deviation / sqrt(n)`` on logarithms.

    Parameters
    ----------
    deviation : float
        Standard deviation of the logarithms of the processes' medians.
    half_width : float
        Relative, above 0.
    """
    ratio = deviation / math.log1p(half_width)
    low, high = MIN_PROCESSES - 1, MIN_PROCESSES
    while not _narrow(high, ratio):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _narrow(middle, ratio) else (middle, high)
    return high


def _narrow(count: int, ratio: float) -> bool:
    quantile = student_t_quantile(0.5 + CONFIDENCE / 2, min(count - 1, _MAX_DEGREES))
    return quantile * ratio <= math.sqrt(count)


def order(cells: int, round: int, seed: int) -> list[int]:
    """Return the order in which a round runs the cells, each once.

    Two rounds are a block: a random permutation, then its mirror image (of two cells ABBA or BAAB by coin), so
    that a drift over the campaign falls on all cells alike.

    Parameters
    ----------
    cells : int
        How many there are.
    round : int
        From 0.
    seed : int
        Of the whole campaign.
    """
    drawn = list(range(cells))
    random.Random(f"{seed}/{round // 2}").shuffle(drawn)
    return drawn[::-1] if round % 2 else drawn
