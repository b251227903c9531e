"""What was asked of a run, from its record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarker.experiment import RunSpec, specification

_ELSEWHERE = {
    "framework": "framework.name",
    "framework_version": "framework.requested_version",
    "framework_options": "framework.options",
    "problem": "problem.name",
    "problem_parameters": "problem.parameters",
    "mode": "mode",
    "batch_size": "batch_size",
    "precision": "precision",
    "seed": "seed",
    "optimizer": "optimizer",
    "device": "device.type",
    "threads": "execution.threads",
    "affinity": "execution.affinity",
    "launcher": "execution.launcher",
    "steps": "execution.steps_requested",
    "warmup": "execution.warmup_requested",
    "samples_per_epoch": "execution.samples_per_epoch",
    "repetition": "repetition",
}
"""Where a record of version 1.0, which has no specification, says the same."""


def value_at(record: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path, ``None`` if there is nothing."""
    value: Any = record
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def asked(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record's specification; what was added since it was made stands at its default."""
    stated = record.get("specification") or {name: value_at(record, at) for name, at in _ELSEWHERE.items()}
    return {**specification(RunSpec("", "")), **stated}
