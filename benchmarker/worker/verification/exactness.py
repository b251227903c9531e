"""How exact a single operator is against float64, and how repeatable: Deep500's validation of its first level.

Ben-Nun et al. 2019, arXiv 1901.10183, section IV: norms of the errors, a heat map of them, the variance of
repeated runs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.program import Program
from benchmarker.worker.job import RunJob
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.error_norms import NORMS, difference_map, error_norms
from benchmarker.worker.verification.probes import ProbeResults
from benchmarker.worker.verification.repeatability import Variation
from benchmarker.worker.verification.tolerances import Expected
from benchmarker.worker.verification.verified_start import comparable

if TYPE_CHECKING:
    from benchmarker.worker.program import Prepared

RERUNS = 5
MAX_SECONDS = 10.0
"""Reruns that take longer together end after the first one beyond it."""


def exactness(job: RunJob, prepared: Prepared) -> dict[str, Any]:
    """Run the operator again on the first mini-batch and return the record's member ``operator``."""
    first = _results(prepared, prepared.program, prepared.native_batch)
    variations = {name: Variation(array) for name, (_, array) in first.items()}
    reruns, end = 0, time.monotonic() + MAX_SECONDS
    while reruns < RERUNS and (not reruns or time.monotonic() < end):
        reruns += 1
        for name, (_, array) in _results(prepared, prepared.program, prepared.native_batch).items():
            variations[name].note(array)
    expected = {e.name: e for e in reference.load(Path(job.reference))[0]} if job.reference else {}
    compared = _compared(job, prepared, first) if expected else {}
    tensors = [
        {
            "name": name,
            "kind": kind,
            "shape": list(array.shape),
            "repeatability": variations[name].to_json(),
            **_errors(expected.get(name), compared.get(name)),
        }
        for name, (kind, array) in first.items()
    ]
    return {
        "reference": reference.NAME if expected else None,
        "reruns": reruns,
        **_worst(tensors),
        "tensors": tensors,
    }


def _worst(tensors: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the largest relative errors of all tensors, None where one is not known, and what varies."""
    found: dict[str, Any] = {}
    for norm in NORMS:
        errors = [tensor["errors"] and tensor["errors"][f"{norm}_relative"] for tensor in tensors]
        found[f"{norm}_relative"] = None if None in errors else max(errors)
    again = [tensor["repeatability"] for tensor in tensors]
    found["bitwise_equal"] = all(tensor["bitwise_equal"] for tensor in again)
    found["varying_share"] = max(tensor["varying_share"] for tensor in again)
    return found


def _results(prepared: Prepared, program: Program, batch: Any) -> ProbeResults:
    """Return outputs (or the loss) and gradients by name, with their kind."""
    graph = prepared.graph
    if prepared.mode == "inference":
        arrays = program.fetch(program.infer(batch))
        return {name: ("output", array) for name, array in zip(graph.outputs, arrays)}
    value = program.gradient_step(batch)[0]
    _, gradients = program.gradients(batch)
    names = graph.outputs if graph.loss is None else ("loss",)
    kind = "output" if graph.loss is None else "loss"
    found: ProbeResults = {name: (kind, array) for name, array in zip(names, program.fetch(value))}
    return {**found, **{name: ("gradient", array) for name, array in gradients.items()}}


def _compared(job: RunJob, prepared: Prepared, whole: ProbeResults) -> ProbeResults:
    """Return the results for as many samples as the reference has."""
    if job.verification_samples == job.batch_size:
        return whole
    if job.mode == "inference":
        return {name: (kind, array[: job.verification_samples]) for name, (kind, array) in whole.items()}
    return _results(prepared, *comparable(job, prepared))


def _errors(expected: Expected | None, found: tuple[str, Any] | None) -> dict[str, Any]:
    if expected is None or found is None:
        return {"errors": None, "difference_map": None}
    array = np.asarray(found[1])
    is_output = expected.kind == "output"
    return {
        "errors": error_norms(expected.name, array, expected.tensor_sample),
        "difference_map": difference_map(expected.name, array, expected.tensor_sample) if is_output else None,
    }
