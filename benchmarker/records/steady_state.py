"""Where the steady part of a process's steps begins, and whether there is one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from benchmarker.quick_dataclass import dataclass
from benchmarker.records.change_points import Array, find_levels, medians

MIN_SAMPLES = 20
"""With fewer samples nothing is said."""
STEADY_SHARE = 0.5
"""The share of the samples that the steady part has at least."""

Disturbed = Callable[[int, int], bool]


@dataclass(frozen=True)
class Segment:
    """Consecutive samples of one level.

    Parameters
    ----------
    start, end : int
        The samples ``start`` to ``end - 1``.
    median : float
        Of these samples, in their unit.
    """

    start: int
    end: int
    median: float


@dataclass(frozen=True)
class SteadyState:
    """What the course of the samples says.

    Parameters
    ----------
    kind : str or None
        ``flat``: one level; ``warmup``: slower at first; ``slowdown``: faster at first; ``no_steady_state``:
        less than half of the samples are of the last level; ``disturbed``: the machine, not the program,
        made it unsteady; ``None``: too few samples to tell.
    start : int
        The first sample of the steady part, which reaches to the end.
    segments : tuple of Segment
        What was found, in order, without what was set aside by ``settle``.
    reason : str
        In words.
    """

    kind: str | None
    start: int
    segments: tuple[Segment, ...]
    reason: str


def detect(samples: Sequence[float], *, disturbed: Disturbed | None = None, settle: int = 0) -> SteadyState:
    """Return where the steady part begins and of what kind the samples' course is.

    Change points of the logarithms by optimal partitioning; from the end backwards, segments of equal medians
    are joined (after Barrett et al., OOPSLA 2017, and Traini et al., Empirical Software Engineering 28, 2023).
    A slow start that decays exponentially is told from plateaus by the better fit.

    Parameters
    ----------
    samples : sequence of float
        Seconds per step in the order in which they were taken.
    disturbed : callable, optional
        Says whether the machine disturbed the samples from a first to before a last one.
    settle : int
        Number of samples at the beginning that are never part of the steady state.
    """
    times = np.asarray(samples, dtype=np.float64)
    rest = times[settle:]
    if len(rest) < MIN_SAMPLES:
        return _unknown(
            times, settle, f"too few samples to tell: {len(rest)}, at least {MIN_SAMPLES} are needed"
        )
    if not (np.isfinite(rest) & (rest > 0)).all():
        return _unknown(times, settle, "a sample is not a positive number")
    levels = find_levels(rest)
    segments = [_segment(times, settle + start, settle + end) for start, end in levels.spans]
    return _judge(segments, levels.equal, disturbed)


def _unknown(times: Array, settle: int, reason: str) -> SteadyState:
    rest = (_segment(times, settle, len(times)),) if len(times) > settle else ()
    return SteadyState(None, min(settle, len(times)), rest, reason)


def _segment(times: Array, start: int, end: int) -> Segment:
    return Segment(start, end, float(medians(times[start:end])))


# --- what kind it is -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Verdict:
    kind: str
    start: int


def _judge(segments: list[Segment], equal: float, disturbed: Disturbed | None) -> SteadyState:
    """Judge the segments; what the machine slowed is looked past if nothing else is unsteady.

    It stays among the samples all the same: only a slow start is set aside, whoever slowed it.
    """
    plain = _classify(segments, equal)
    if plain.kind == "flat" or (plain.kind == "warmup" and not _rises(segments, equal)):
        return _steady_state(plain.kind, plain.start, segments)
    fastest = min(segment.median for segment in segments)
    kept = [
        segment
        for segment in segments
        if _differ(segment.median, fastest, equal) == 0
        or disturbed is None
        or not disturbed(segment.start, segment.end)
    ]
    settled = _classify(kept, equal)
    if len(kept) == len(segments) or settled.kind not in ("flat", "warmup"):
        return _steady_state(plain.kind, plain.start, segments)
    return _steady_state("disturbed", settled.start if settled.kind == "warmup" else 0, segments)


def _classify(segments: Sequence[Segment], equal: float) -> _Verdict:
    """Join segments from the end while their medians are equal; the kind follows from what is left."""
    first = len(segments) - 1
    while first and _differ(segments[first - 1].median, _level(segments[first:]), equal) == 0:
        first -= 1
    start, level = segments[first].start, _level(segments[first:])
    if first == 0:
        return _Verdict("flat", start)
    if _length(segments[first:]) < STEADY_SHARE * _length(segments):
        return _Verdict("no_steady_state", start)
    faster = any(_differ(segment.median, level, equal) < 0 for segment in segments[:first])
    return _Verdict("slowdown" if faster else "warmup", start)


def _differ(one: float, other: float, equal: float) -> int:
    """Return the sign of a difference of levels, 0 if they count as equal."""
    difference = math.log(one / other)
    return 0 if abs(difference) <= equal else int(math.copysign(1, difference))


def _level(segments: Sequence[Segment]) -> float:
    """Return the common level of segments: the mean of the logarithms of their medians by their lengths."""
    logs = math.fsum((s.end - s.start) * math.log(s.median) for s in segments)
    return math.exp(logs / _length(segments))


def _length(segments: Sequence[Segment]) -> int:
    return sum(segment.end - segment.start for segment in segments)


def _rises(segments: Sequence[Segment], equal: float) -> bool:
    pairs = zip(segments, segments[1:])
    return any(_differ(after.median, before.median, equal) > 0 for before, after in pairs)


def _steady_state(kind: str, start: int, segments: Sequence[Segment]) -> SteadyState:
    reasons = {
        "flat": "all samples are of one level",
        "warmup": f"slower, at least in part, before sample {start}",
        "slowdown": f"faster, at least in part, before sample {start}",
        "no_steady_state": f"the last level begins only with sample {start} of {segments[-1].end}",
        "disturbed": "the machine was disturbed where the samples are slower",
    }
    return SteadyState(kind, start, tuple(segments), reasons[kind])
