"""Later steps of mode ``gradient``: what they return against what the program tells beside them, and the reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.findings import FAILED, Check, compared, left_out
from benchmarker.worker.verification.probes import LATER_CALLS, LATER_SEEDS, Build, ProbeSpec
from benchmarker.worker.verification.reference_cost import BACKWARD, fits_memory, forward_seconds
from benchmarker.worker.verification.samples import NO_ERRORS, tensor_sample
from benchmarker.worker.verification.tolerances import Expected, Tolerance, floor_of, tolerances
from benchmarker.worker.verification.verdicts import TensorVerdict, judge

if TYPE_CHECKING:
    import numpy.typing as npt

    Arrays = dict[str, npt.NDArray[Any]]

GRADIENT_STEPS = "later steps of mode gradient"
MAX_SECONDS = 20.0
"""What the reference of one mini-batch may take by the estimate."""
_EVALUATIONS = 3
"""Exact, rounded, and with rectifiers switched."""


@dataclass(frozen=True)
class _Step:
    """What one step returned, and what the program told of its mini-batch beside it."""

    batch: Arrays
    returned: Arrays
    told: Arrays


def gradient_steps_check(spec: ProbeSpec, build: Build, device_type: str) -> Check:
    """Make steps on mini-batches of their own, and hold the last one to the reference.

    Parameters
    ----------
    spec : ProbeSpec
        Of a problem with a loss; its precision is that of the program.
    build : callable
        Makes a program of the framework.
    device_type : {"cpu", "cuda"}
        Where it runs.
    """
    graph = spec.training_graph
    seconds = _EVALUATIONS * BACKWARD * forward_seconds(graph)
    if seconds > MAX_SECONDS or not fits_memory(graph, backward=True):
        return left_out(GRADIENT_STEPS, f"the reference of one mini-batch might take {seconds:.2g} s")
    weights = spec.parameters()
    try:
        steps = list(_steps(build(graph, weights, "gradient", spec.own), spec))
    except UnsupportedError as reason:
        return left_out(GRADIENT_STEPS, str(reason))
    names = [parameter.name for parameter in graph.trainable]
    missing = {name for step in steps for name in names if name not in step.returned or name not in step.told}
    if missing:
        return Check(
            GRADIENT_STEPS, FAILED, f"the framework returned no gradient of {', '.join(sorted(missing))}"
        )
    expected = _expected(graph, weights, steps[-1].batch, spec.precision)
    limits = tolerances(expected, spec.precision, floor_of(graph.operators, device_type))
    what = f"{len(steps)} of them with the gradients told beside them, the last with {reference.NAME}"
    return compared(GRADIENT_STEPS, what, list(_verdicts(steps, expected, limits)))


def _steps(program: Program, spec: ProbeSpec) -> Iterator[_Step]:
    for number in range(LATER_CALLS):
        batch = spec.drawn(spec.seed + LATER_SEEDS + number)
        native = program.load(batch)
        output = program.gradient_step(native)
        program.synchronize(output)
        returned = _copied(program.fetch_gradients(output[1]))
        yield _Step(batch, returned, _copied(program.gradients(native)[1]))


def _copied(arrays: Mapping[str, Any]) -> Arrays:
    """Return arrays of our own: the next step may write to the same memory."""
    return {name: np.array(array) for name, array in arrays.items()}


def _expected(graph: Graph, weights: Arrays, batch: Arrays, precision: str) -> list[Expected]:
    found = reference.compute(graph, dict(weights), dict(batch), "gradient", precision)
    return [e for e in found if e.kind == "gradient"]


def _verdicts(
    steps: list[_Step], expected: list[Expected], limits: Mapping[str, Tolerance]
) -> Iterator[TensorVerdict]:
    for wanted in expected:
        name, limit = wanted.name, limits[wanted.name]
        for step in steps:
            told = Expected(name, "gradient", tensor_sample(name, step.told[name]), NO_ERRORS)
            yield judge(told, step.returned[name], limit)
        yield replace(judge(wanted, steps[-1].returned[name], limit), name=f"{name} by the reference")
