"""What two records must have in common to be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from benchmarker import registry
from benchmarker.experiment import RunSpec
from benchmarker.schema.believing import hash_of


def comparable(spec: RunSpec, data: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the keys that must match, in the clear and as a hash.

    The framework, its options and the machine are what is compared, so they are no keys.

    Parameters
    ----------
    spec : RunSpec
        The run.
    data : mapping or None
        Description of its data set.
    """
    problem = registry.problem(spec.problem)
    keys = {
        "problem": problem.name,
        "problem_semantics": problem.semantics,
        "problem_parameters": dict(spec.problem_parameters),
        "mode": spec.mode,
        "batch_size": spec.batch_size,
        "precision": spec.precision,
        "optimizer": asdict(spec.optimizer) if spec.mode == "training" else None,
        "device": spec.device,
        "devices": max(1, len(spec.gpus)),
        "threads": spec.threads,
        "data": data["digest"] if data else None,
        "inputs": spec.inputs,
        "sampling": spec.sampling,
        **_transformations(spec),
    }
    return {"hash": hash_of(keys), "keys": keys}


def _transformations(spec: RunSpec) -> dict[str, Any]:
    """Return what was changed about the graph; nothing usually, so that older records stay comparable."""
    asked = {"micro_batch": spec.micro_batch, "fold_batch_norm": spec.fold_batch_norm}
    return {name: value for name, value in asked.items() if value}


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the keys in which two records' ``comparable`` differ, with both values; empty if they match."""
    ours, theirs = first["keys"], second["keys"]
    names = dict.fromkeys((*ours, *theirs))
    return {n: (ours.get(n), theirs.get(n)) for n in names if ours.get(n) != theirs.get(n)}
