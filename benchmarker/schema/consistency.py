"""What ties the fields of a record to each other, beyond what JSON Schema can say."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from benchmarker.schema.believing import Finding, disbelief
from benchmarker.schema.paths import json_path
from benchmarker.statistics import describe, describe_bounded

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


def inconsistencies(record: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what does not fit together in a record that its JSON Schema accepts."""
    yield from _status(record)
    yield from _measured_here(record)
    yield from _times(record)
    yield from (_statistics if _since(record, "1.2") else _statistics_before)(record["timing"])
    yield from _throughput(record)
    yield from _verification(record["verification"])
    yield from _collectors(record)
    yield from _acceptance(record.get("acceptance"))
    if _since(record, "1.2"):
        yield from disbelief(record)
    yield from _learning(record.get("learning"))


def _learning(learning: Mapping[str, Any] | None) -> Iterator[Finding]:
    if learning is None:
        return
    if len({len(learning[name]) for name in ("steps", "seconds", "losses")}) > 1:
        yield "$.learning", "must have as many steps as seconds and losses"
    for name in ("steps", "seconds"):
        if sorted(learning[name]) != learning[name]:
            yield f"$.learning.{name}", "must not go down"


def _status(record: Mapping[str, Any]) -> Iterator[Finding]:
    if record["status"] != "ok":
        if record["error"] is None:
            yield "$.error", f"must say why the status is '{record['status']}', got null"
        return
    if record["error"] is not None:
        yield "$.error", "must be null when the status is 'ok'"
    imported = record.get("imported") is not None
    for path in _NEEDED_WHEN_IMPORTED if imported else _NEEDED_WHEN_OK:
        if _at(record, path) is None:
            yield f"$.{path}", "must be known when the status is 'ok', got null"
    if record["timing"]["samples_seconds"] == []:
        yield "$.timing.samples_seconds", "must have samples when the status is 'ok'"
    if record["verification"]["status"] == "failed":
        yield "$.verification.status", "must not be 'failed' when the record's status is 'ok'"
    if record["mode"] == "training" and record["optimizer"] is None and not imported:
        yield "$.optimizer", "must be known when the mode is 'training' and the status is 'ok'"


def _measured_here(record: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what only a record of another program's run may lack."""
    if record.get("imported") is not None:
        return
    if record["seed"] is None:
        yield "$.seed", "must be known unless the record is imported, got null"
    trust = record.get("trust")
    if trust is not None and trust.get("evidence", trust) is None:
        yield "$.trust.evidence", "must be known unless the record is imported, got null"


def _at(record: Mapping[str, Any], path: str) -> Any:
    return functools.reduce(operator.getitem, _names(path), record)


@functools.cache
def _names(path: str) -> list[str]:
    return path.split(".")


def _times(record: Mapping[str, Any]) -> Iterator[Finding]:
    moments = {}
    for name in ("started_at", "ended_at"):
        if record[name] is None:
            continue
        try:
            moments[name] = datetime.fromisoformat(record[name].replace("Z", "+00:00"))
        except ValueError as error:
            yield f"$.{name}", f"is not a time: {error}"
    if len(moments) == 2 and moments["ended_at"] < moments["started_at"]:
        yield "$.ended_at", "must not be before started_at"


def _since(record: Mapping[str, Any], version: str) -> bool:
    """Tell whether the record is of a version, or of a later one."""
    return _numbers(record["schema_version"]) >= _numbers(version)


@functools.lru_cache
def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _statistics(timing: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the statistics that do not follow from the samples from the start of the steady state on."""
    steady = timing["steady_state"]
    samples, stated = timing["samples_seconds"] or [], timing["step_seconds"]
    kept = samples[steady["start"] :] if steady else samples
    block = timing["block_steps"] or 1
    yield from _agreement(kept, stated, lambda: describe_bounded(kept, block_steps=block)[0])


def _statistics_before(timing: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the same for records before 1.2, whose statistics are of all samples."""
    samples = timing["samples_seconds"]
    yield from _agreement(samples, timing["step_seconds"], lambda: describe(samples))


def _agreement(
    samples: Sequence[float] | None, stated: Mapping[str, Any] | None, expect: Callable[[], Mapping[str, Any]]
) -> Iterator[Finding]:
    if stated is None:
        if samples:
            yield "$.timing.step_seconds", "must be known when there are samples, got null"
        return
    if not samples:
        yield "$.timing.step_seconds", "must be null when there are no samples"
        return
    if stated["count"] != len(samples):
        yield "$.timing.step_seconds.count", f"is {stated['count']}, but there are {len(samples)} samples"
        return
    if (stated["ci95"] is None) == (stated["ci95_reason"] is None):
        yield "$.timing.step_seconds.ci95_reason", "must say why there is no ci95, and only then"
    if stated["ci95"] is not None and not stated["ci95"][0] <= stated["median"] <= stated["ci95"][1]:
        yield "$.timing.step_seconds.ci95", "must enclose the median"
    expected = expect()
    for name in ("min", "p5", "p25", "median", "p75", "p90", "p95", "p99", "max", "mean", "std"):
        if not _equal(stated[name], expected[name]):
            yield f"$.timing.step_seconds.{name}", f"is {stated[name]}, but the samples give {expected[name]}"


def _throughput(record: Mapping[str, Any]) -> Iterator[Finding]:
    samples, total = record["timing"]["samples_seconds"], record["timing"]["total_seconds"]
    throughput = record["metrics"]["throughput"]
    if not samples or total is None:
        return
    timing = record["timing"]
    steps, block = timing.get("steps") or len(samples), timing.get("block_steps") or 1
    last = steps - block * (len(samples) - 1)
    taken = math.fsum(samples[:-1]) * block + samples[-1] * last
    if total < taken * (1 - _ROUNDING):
        yield "$.timing.total_seconds", f"is {total}, but the samples alone take {taken}"
    computed = record["batch_size"] * steps
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


def _verification(verification: Mapping[str, Any]) -> Iterator[Finding]:
    status, tensors = verification["status"], verification["tensors"]
    if status in ("failed", "skipped", "inconclusive") and not verification["reason"]:
        yield "$.verification.reason", f"must say why verification is '{status}'"
    if status != "passed":
        return
    if not tensors:
        yield "$.verification.tensors", "must name what was compared when verification has passed"
    if verification["reference"] is None:
        yield "$.verification.reference", "must be known when verification has passed, got null"
    for index, tensor in enumerate(tensors):
        if not tensor["passed"]:
            yield f"$.verification.tensors[{index}].passed", "must be true when verification has passed"


def _collectors(record: Mapping[str, Any]) -> Iterator[Finding]:
    for name, outcome in record["collectors"].items():
        if outcome["status"] != "ok" and not outcome["reason"]:
            yield (
                json_path(["collectors", name, "reason"]),
                f"must say why the collector is '{outcome['status']}'",
            )
        read = {*record["platform"], *(record.get("monitors") or ())}
        if outcome["status"] == "ok" and name not in read:
            yield json_path(["platform", name]), "is missing although its collector is 'ok'"


def _acceptance(acceptance: Mapping[str, Any] | None) -> Iterator[Finding]:
    if acceptance is None:
        return
    for index, limit in enumerate(acceptance["limits"]):
        value, least = limit["value"], limit["name"].startswith("min_")
        kept = value is not None and (value >= limit["limit"] if least else value <= limit["limit"])
        if limit["passed"] != kept:
            yield (
                f"$.acceptance.limits[{index}].passed",
                f"is {str(limit['passed']).lower()}, but the value {value} and the limit say otherwise",
            )
    status = "passed" if all(limit["passed"] for limit in acceptance["limits"]) else "failed"
    if acceptance["status"] != status:
        yield "$.acceptance.status", f"is '{acceptance['status']}', but the limits say '{status}'"
