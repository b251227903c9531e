"""What ties together the members that say how far a number can be believed (records since 1.2)."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from benchmarker.machine.trust import GRADES, worst
from benchmarker.statistics import PERCENTILES

if TYPE_CHECKING:
    from benchmarker.records.schema.record import Record
    from benchmarker.records.schema.replication import Replication
    from benchmarker.records.schema.timing import StepStatistics, Timing
    from benchmarker.records.schema.trust import Trust

Finding = tuple[str, str]
"""A JSON path and what is wrong there."""

_ROUNDING = 1e-6
_PERCENTILES = tuple(f"p{percent}" for percent in PERCENTILES)


def trust_inconsistencies(record: Record) -> Iterator[Finding]:
    """Yield what cannot be true in timing, trust, replication and the keys of comparison."""
    timing = record.timing
    if timing.samples_seconds:
        yield from _sampling(timing)
        yield from _steady_state(timing)
        yield from _percentiles(timing.step_seconds)
    if timing.warmup_steps not in (None, len(timing.warmup_samples_seconds)):
        yield "$.timing.warmup_steps", "is not the number of warmup_samples_seconds"
    if (record.peaks is None) != bool(record.peaks_reason):
        yield "$.peaks_reason", "must say why there are no peaks, and only then"
    yield from _trust(record.trust, timing)
    yield from _replication(record.replication)
    if record.comparable.hash != hash_of(record.comparable.keys):
        yield "$.comparable.hash", "is not that of the keys"


def hash_of(keys: Mapping[str, Any]) -> str:
    """Return what two records have in common whose keys of comparison are the same."""
    return f"sha256:{hashlib.sha256(json.dumps(keys, sort_keys=True).encode()).hexdigest()}"


def _sampling(timing: Timing) -> Iterator[Finding]:
    """Yield what is wrong with how the samples were taken."""
    samples, steps, block = timing.samples_seconds or [], timing.steps, timing.block_steps
    if steps is None or block is None:
        yield "$.timing.steps", "and block_steps must be known when there are samples"
        return
    if len(samples) != -(-steps // block):
        yield "$.timing.steps", f"is {steps}, but {len(samples)} samples of {block} steps do not hold that"
    if timing.sampling == "latency" and block != 1:
        yield "$.timing.block_steps", f"is {block}, but in latency sampling each step is a sample"
    wall, total = timing.wall_seconds, timing.total_seconds
    if wall is None or (total is not None and wall < total * (1 - _ROUNDING)):
        yield "$.timing.wall_seconds", f"is {wall}, but the samples alone take {total}"
    events = timing.device_event_seconds
    if events is not None and len(events) != steps:
        yield "$.timing.device_event_seconds", f"has {len(events)} members for {steps} steps"


def _steady_state(timing: Timing) -> Iterator[Finding]:
    steady, count = timing.steady_state, len(timing.samples_seconds or [])
    if steady is None:
        yield "$.timing.steady_state", "must be known when there are samples, got null"
        return
    if steady.start >= count:
        yield "$.timing.steady_state.start", f"is {steady.start}, but there are {count} samples"
    ends = [0]
    for index, segment in enumerate(steady.segments):
        if not ends[-1] <= segment.start < segment.end <= count:
            yield f"$.timing.steady_state.segments[{index}]", "must follow the one before and hold samples"
        ends.append(segment.end)


def _percentiles(step: StepStatistics | None) -> Iterator[Finding]:
    if step is None:
        return
    absent = {name for name in _PERCENTILES if getattr(step, name) is None}
    if step.percentiles_reason.keys() != absent:
        yield "$.timing.step_seconds.percentiles_reason", "must say why each percentile is null that is"


def _trust(trust: Trust | None, timing: Timing) -> Iterator[Finding]:
    if trust is None:
        if timing.samples_seconds:
            yield "$.trust", "must be known when there are samples, got null"
        return
    grade = worst(reason.severity for reason in trust.reasons) or GRADES[0]
    if trust.grade != grade:
        yield "$.trust.grade", f"is '{trust.grade}', but the reasons say '{grade}'"
    findings = trust.findings or []
    kinds = {reason.kind for reason in trust.reasons} | {finding.kind for finding in findings}
    compiled = "compilation" in kinds
    if compiled != bool(timing.compilations):
        yield "$.timing.compilations", f"is {timing.compilations}, but the reasons of trust say otherwise"
    precision = trust.precision or None
    if precision is not None and (precision.half_width is None) != (precision.least_difference is None):
        yield "$.trust.precision.least_difference", "must be known when half_width is, and only then"
    checkpoints = trust.checkpoints
    if checkpoints is not None:
        for name in ("seconds", "own_cpu_seconds", "run_delay_seconds", "busy_seconds"):
            if len(getattr(checkpoints, name)) != len(checkpoints.step):
                yield f"$.trust.checkpoints.{name}", "must have as many members as step"


def _replication(replication: Replication | None) -> Iterator[Finding]:
    if replication is None:
        return
    if replication.position >= replication.cells:
        yield "$.replication.position", f"must be below the number of cells, {replication.cells}"
    if replication.processes > replication.round + 1:
        yield "$.replication.processes", f"is more than the rounds so far, {replication.round + 1}"
    centre, interval = replication.centre_seconds, replication.ci95
    if (centre is None) != (replication.processes == 0):
        yield "$.replication.centre_seconds", "must be known when there are processes, and only then"
    half_width = replication.half_width
    if (interval is None) != (half_width is None):
        yield "$.replication.half_width", "must be known when ci95 is, and only then"
    if interval is None or half_width is None or not centre:
        return
    if not interval[0] <= centre <= interval[1]:
        yield "$.replication.ci95", "must enclose the centre"
    elif not math.isclose(interval[1] / centre, 1 + half_width, rel_tol=_ROUNDING):
        yield "$.replication.half_width", "is not that of ci95"
