"""Whether the same work took more CPU time for a while, which a neighbour outside of this machine does to it.

A neighbour that takes memory bandwidth, cache or clock shows in no counter of ours; but steps that do the same work
then need more CPU time, not time of waiting. The program's own phases do that too, and are told apart by their course:
they fall at random (garbage collection), recur regularly (epochs), or do not go back to what was before (warm-up, a
leak). What counts is an episode: several intervals in a row above the calm ones, with calm ones before and after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from statistics import fmean, median, pstdev
from typing import Any

from benchmarker.quick_dataclass import dataclass

MIN_INTERVALS = 20
MIN_EXCESS = 0.15
"""An interval is above the calm ones if its steps took so much more CPU time, relative."""
MIN_SPREADS = 4.0
"""And by so many times what the calm ones differ among themselves."""
MIN_EPISODE = 3
"""Intervals in a row."""
MAX_OUTSIDE = 0.5
"""If more of the slow intervals stand alone, they fall at random."""
MIN_REGULAR, MAX_IRREGULARITY = 3, 0.3
"""So many episodes whose distances differ by so little, relative, are the program's own."""


@dataclass(frozen=True)
class Excess:
    """CPU time beyond what the same work takes in the calm intervals.

    Parameters
    ----------
    share : float
        Of all CPU time.
    rise : float
        How much more a step took in the episodes, relative.
    seconds : float
        How long these lasted.
    """

    share: float
    rise: float
    seconds: float


def excess(checkpoints: Mapping[str, Any]) -> Excess | None:
    """Return the CPU time that steps took more for a while; None where there was no such while.

    Parameters
    ----------
    checkpoints : mapping
        What :meth:`benchmarker.worker.measurement.evidence.Checkpoints.to_json` told.
    """
    steps, cpu, clock = (_passed(checkpoints.get(name)) for name in ("step", "own_cpu_seconds", "seconds"))
    rows = [(c / n, c, s) for n, c, s in zip(steps, cpu, clock) if n > 0 and s > 0]
    if len(rows) < MIN_INTERVALS:
        return None
    each = [row[0] for row in rows]
    calm = _calm(each)
    if calm <= 0:
        return None
    spans = _episodes([value > _threshold(each, calm) for value in each])
    if not spans or _is_regular(spans):
        return None
    inside = [row for start, end in spans for row in rows[start:end]]
    more = sum(used * (1 - calm / value) for value, used, _ in inside)
    return Excess(
        share=more / sum(row[1] for row in rows),
        rise=fmean(row[0] for row in inside) / calm - 1,
        seconds=sum(row[2] for row in inside),
    )


def _passed(counter: Sequence[float] | None) -> list[float]:
    return [later - earlier for earlier, later in zip(counter or (), (counter or ())[1:])]


def _calm(each: Sequence[float]) -> float:
    """Return the middle of the lower half: half of the intervals may be slow."""
    ordered = sorted(each)
    return median(ordered[: (len(ordered) + 1) // 2])


def _threshold(each: Sequence[float], calm: float) -> float:
    low = [calm - value for value in each if value < calm]
    spread = 1.4826 * median(low) if low else 0.0
    return calm + max(MIN_EXCESS * calm, MIN_SPREADS * spread)


def _episodes(slow: Sequence[bool]) -> list[tuple[int, int]]:
    """Return where episodes begin and end, none where most of what is slow stands alone."""
    spans, place = [], 0
    for is_slow, run in groupby(slow):
        length = len(list(run))
        if is_slow and length >= MIN_EPISODE and place > 0 and place + length < len(slow):
            spans.append((place, place + length))
        place += length
    within = sum(end - start for start, end in spans)
    return spans if within > MAX_OUTSIDE * sum(slow) else []


def _is_regular(spans: Sequence[tuple[int, int]]) -> bool:
    distances = [later[0] - earlier[0] for earlier, later in zip(spans, spans[1:])]
    return len(spans) >= MIN_REGULAR and pstdev(distances) <= MAX_IRREGULARITY * fmean(distances)
