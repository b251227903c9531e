"""What ties the fields of a record to each other, beyond what JSON Schema can say."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from benchmarker.records.schema.faults import json_path
from benchmarker.records.schema.training_inconsistencies import training_inconsistencies
from benchmarker.records.schema.trust_inconsistencies import Finding, trust_inconsistencies
from benchmarker.records.schema.versions import is_since
from benchmarker.records.specifications import specification_findings
from benchmarker.records.timestamps import time_fault
from benchmarker.statistics import describe, describe_bounded

if TYPE_CHECKING:
    from benchmarker.records.schema.learning import Learning
    from benchmarker.records.schema.outcome import Acceptance
    from benchmarker.records.schema.record import Record
    from benchmarker.records.schema.timing import StepStatistics, Timing
    from benchmarker.records.schema.verification import Verification

# Samples come from whole nanoseconds and sums of doubles; anything larger is not rounding.
_ROUNDING = 1e-6

_NEEDED_WHEN_OK = (
    "ended_at",
    "framework.version",
    "framework.full",
    "problem.parameter_count",
    "problem.flops_per_step",
    "device.name",
    "device.count",
    "environment.python",
    "environment.packages",
    "digests.parameters",
    "digests.batch",
    "timing.import_seconds",
    "timing.build_seconds",
    "timing.compile_seconds",
    "timing.warmup_seconds",
    "timing.samples_seconds",
    "timing.step_seconds",
    "timing.total_seconds",
    "metrics.throughput",
    "metrics.flops_per_second",
    "verification.status",
)
_NEEDED_WHEN_IMPORTED = (
    "timing.samples_seconds",
    "timing.step_seconds",
    "timing.total_seconds",
    "metrics.throughput",
    "verification.status",
)
"""What a file of another program must tell at least."""


def inconsistencies(record: Record) -> Iterator[Finding]:
    """Yield what does not fit together in a record that the decoder accepts; it keeps its version."""
    timing, is_new = record.timing, is_since(record.schema_version, "1.2")
    yield from specification_findings(record.specification or {})
    yield from _status(record)
    yield from _measured_here(record)
    yield from _times(record)
    yield from _statistics(timing) if is_new else _statistics_before(timing)
    yield from _throughput(record)
    yield from _verification(record.verification)
    yield from _collectors(record)
    # What an older version lacks is unset, which is false.
    if record.acceptance:
        yield from _acceptance(record.acceptance)
    if is_new:
        yield from trust_inconsistencies(record)
    if record.learning:
        yield from _learning(record.learning)
    if record.training:
        yield from training_inconsistencies(record.training)


def _learning(learning: Learning) -> Iterator[Finding]:
    if not len(learning.steps) == len(learning.seconds) == len(learning.losses):
        yield "$.learning", "must have as many steps as seconds and losses"
    rising: Mapping[str, Sequence[float]] = {"steps": learning.steps, "seconds": learning.seconds}
    for name, values in rising.items():
        if sorted(values) != values:
            yield f"$.learning.{name}", "must not go down"


def _status(record: Record) -> Iterator[Finding]:
    if record.status != "ok":
        if record.error is None:
            yield "$.error", f"must say why the status is '{record.status}', got null"
        return
    if record.error is not None:
        yield "$.error", "must be null when the status is 'ok'"
    for path in _NEEDED_WHEN_IMPORTED if record.imported else _NEEDED_WHEN_OK:
        if _reader(path)(record) is None:
            yield f"$.{path}", "must be known when the status is 'ok', got null"
    if record.timing.samples_seconds == []:
        yield "$.timing.samples_seconds", "must have samples when the status is 'ok'"
    proof = record.verification.after_timing
    if proof and proof.status == "failed":
        yield "$.verification.after_timing.status", "must not be 'failed' when the record's status is 'ok'"
    if record.verification.status == "failed":
        yield "$.verification.status", "must not be 'failed' when the record's status is 'ok'"
    if record.mode == "training" and record.optimizer is None and not record.imported:
        yield "$.optimizer", "must be known when the mode is 'training' and the status is 'ok'"


@functools.cache
def _reader(path: str) -> Callable[[Record], Any]:
    group, _, name = path.partition(".")
    return (lambda record: record.metrics[name]) if group == "metrics" else operator.attrgetter(path)


def _measured_here(record: Record) -> Iterator[Finding]:
    """Yield what only a record of another program's run may lack."""
    if record.imported:
        return
    if record.seed is None:
        yield "$.seed", "must be known unless the record is imported, got null"
    if record.trust and record.trust.evidence is None:
        yield "$.trust.evidence", "must be known unless the record is imported, got null"


def _times(record: Record) -> Iterator[Finding]:
    timestamps = {}
    for name, text in (("started_at", record.started_at), ("ended_at", record.ended_at)):
        if text is None:
            continue
        fault = time_fault(text)
        if fault:
            yield f"$.{name}", fault
        else:
            timestamps[name] = datetime.fromisoformat(text.replace("Z", "+00:00"))
    if len(timestamps) == 2 and timestamps["ended_at"] < timestamps["started_at"]:
        yield "$.ended_at", "must not be before started_at"


def _statistics(timing: Timing) -> Iterator[Finding]:
    """Yield the statistics that do not follow from the samples from the start of the steady state on."""
    steady = timing.steady_state
    samples = timing.samples_seconds or []
    kept = samples[steady.start :] if steady else samples
    block = timing.block_steps or 1
    yield from _agreement(kept, timing.step_seconds, lambda: describe_bounded(kept, block_steps=block)[0])


def _statistics_before(timing: Timing) -> Iterator[Finding]:
    """Yield the same for records before 1.2, whose statistics are of all samples."""
    samples = timing.samples_seconds or []
    yield from _agreement(samples, timing.step_seconds, lambda: describe(samples))


def _agreement(
    samples: Sequence[float], stated: StepStatistics | None, expect: Callable[[], Mapping[str, Any]]
) -> Iterator[Finding]:
    if stated is None:
        if samples:
            yield "$.timing.step_seconds", "must be known when there are samples, got null"
        return
    if not samples:
        yield "$.timing.step_seconds", "must be null when there are no samples"
        return
    if stated.count != len(samples):
        yield "$.timing.step_seconds.count", f"is {stated.count}, but there are {len(samples)} samples"
        return
    if (stated.ci95 is None) == (stated.ci95_reason is None):
        yield "$.timing.step_seconds.ci95_reason", "must say why there is no ci95, and only then"
    if stated.ci95 is not None and not stated.ci95[0] <= stated.median <= stated.ci95[1]:
        yield "$.timing.step_seconds.ci95", "must enclose the median"
    expected = expect()
    for name in ("min", "p5", "p25", "median", "p75", "p90", "p95", "p99", "max", "mean", "std"):
        found = getattr(stated, name)
        if not _equal(found, expected[name]):
            yield f"$.timing.step_seconds.{name}", f"is {found}, but the samples give {expected[name]}"


def _throughput(record: Record) -> Iterator[Finding]:
    timing, throughput = record.timing, record.metrics["throughput"]
    samples, total = timing.samples_seconds, timing.total_seconds
    if not samples or total is None:
        return
    steps, block = timing.steps or len(samples), timing.block_steps or 1
    last = steps - block * (len(samples) - 1)
    taken = math.fsum(samples[:-1]) * block + samples[-1] * last
    if total < taken * (1 - _ROUNDING):
        yield "$.timing.total_seconds", f"is {total}, but the samples alone take {taken}"
    computed = record.batch_size * steps
    if throughput is not None and not _equal(throughput * total, computed):
        yield (
            "$.metrics.throughput",
            f"is {throughput}, but {computed} samples in {total} s are {_rate(computed, total)}",
        )


def _rate(computed: int, total: float) -> str:
    return str(computed / total) if total else "no rate"


def _equal(stated: float | None, expected: float | None) -> bool:
    if stated is None or expected is None:
        return stated is expected
    return math.isclose(stated, expected, rel_tol=_ROUNDING, abs_tol=1e-12)


def _verification(verification: Verification) -> Iterator[Finding]:
    status, tensors = verification.status, verification.tensors
    if status in ("failed", "skipped", "inconclusive") and not verification.reason:
        yield "$.verification.reason", f"must say why verification is '{status}'"
    if status != "passed":
        return
    if not tensors:
        yield "$.verification.tensors", "must name what was compared when verification has passed"
    if verification.reference is None:
        yield "$.verification.reference", "must be known when verification has passed, got null"
    for index, tensor in enumerate(tensors):
        if not tensor.passed:
            yield f"$.verification.tensors[{index}].passed", "must be true when verification has passed"


def _collectors(record: Record) -> Iterator[Finding]:
    read = {*record.platform, *(record.monitors or ())}
    for name, outcome in record.collectors.items():
        if outcome.status == "ok":
            if name not in read:
                yield json_path(["platform", name]), "is missing although its collector is 'ok'"
        elif not outcome.reason:
            yield (
                json_path(["collectors", name, "reason"]),
                f"must say why the collector is '{outcome.status}'",
            )


def _acceptance(acceptance: Acceptance) -> Iterator[Finding]:
    for index, limit in enumerate(acceptance.limits):
        value, least = limit.value, limit.name.startswith("min_")
        kept = value is not None and (value >= limit.limit if least else value <= limit.limit)
        if limit.passed != kept:
            yield (
                f"$.acceptance.limits[{index}].passed",
                f"is {str(limit.passed).lower()}, but the value {value} and the limit say otherwise",
            )
    status = "passed" if all(limit.passed for limit in acceptance.limits) else "failed"
    if acceptance.status != status:
        yield "$.acceptance.status", f"is '{acceptance.status}', but the limits say '{status}'"
