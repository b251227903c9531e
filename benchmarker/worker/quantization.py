"""Scales of a quantized problem: from its own weights, and from what its operands are on a few samples in float64.

They follow from the job alone, so that the framework and the reference compute with the same ones.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarker.graph.graph import Graph
from benchmarker.graph.transformations.quantize import (
    OPERATOR,
    Operand,
    Scale,
    affine,
    all_operands,
    quantize,
    symmetric,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

SAMPLES = 4
"""In a mini-batch that ranges are measured on."""
MINI_BATCH = 1
"""Which one it is of a run with such mini-batches: the second, since the first is what is verified."""


def quantized(job: Any, graph: Graph) -> Graph:
    """Return the graph of a job's problem, of any number of samples, with the scales that belong to the job."""
    return quantize(graph, _scales(_Frozen(job)))


class _Frozen:
    """A job by what decides its scales, so that they are computed once a process."""

    def __init__(self, job: Any) -> None:
        self.job = job
        parameters = tuple(sorted((name, repr(value)) for name, value in job.problem_parameters.items()))
        self._key = (job.problem, parameters, job.seed, job.data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@functools.lru_cache(maxsize=4)
def _scales(frozen: _Frozen) -> Mapping[Operand, Scale]:
    from benchmarker.data import values
    from benchmarker.worker.batches import batches_of
    from benchmarker.worker.job import load_problem

    job = frozen.job
    problem = load_problem(job.problem)
    samples = 1 if problem.graph(1, **job.problem_parameters).operands else SAMPLES
    graph = problem.graph(samples, **job.problem_parameters).without_loss()
    parameters = values.draw_parameters(graph, job.seed)
    return measured(graph, parameters, batches_of(job, graph).batch(MINI_BATCH))


def measured(
    graph: Graph, parameters: Mapping[str, Array], batch: Mapping[str, Array]
) -> dict[Operand, Scale]:
    """Return the scale of everything that is quantized: of weights as they are, of tensors on a mini-batch."""
    from benchmarker.worker.verification import reference

    wanted = all_operands(graph)
    known = {**parameters, **batch}
    computed = tuple(sorted({o.value for o in wanted if o.axis is None and o.value not in known}))
    if computed:
        probed = replace(graph, outputs=computed)
        results = reference.results(probed, dict(parameters), dict(batch), "inference", "fp64")
        known.update({name: array for name, (_, array) in results.items()})
    return {operand: _scale(operand, known[operand.value]) for operand in wanted}


def _scale(operand: Operand, array: Array) -> Scale:
    if operand.axis is None:
        return affine(float(array.min()), float(array.max()))
    others = tuple(axis for axis in range(array.ndim) if axis != operand.axis)
    return symmetric(abs(array).max(axis=others).tolist())


def quantization_errors(job: Any, prepared: Any, found: Sequence[Array]) -> dict[str, Any]:
    """Return how far outputs of the first samples are from those of the graph as it was, in float64."""
    from benchmarker.data import values
    from benchmarker.worker.job import problem_graph
    from benchmarker.worker.verification import reference
    from benchmarker.worker.verification.samples import errors, largest, tensor_sample

    samples = job.verification_samples
    graph = problem_graph(replace(job, precision="fp32"), samples)
    batch = prepared.batch if samples == job.batch_size else values.first_samples(prepared.batch, samples)
    exact = reference.results(graph, dict(prepared.parameters), batch, "inference", "fp64")
    told = [
        errors(tensor_sample(name, array), tensor_sample(name, exact[name][1]))
        for name, array in zip(graph.outputs, found)
    ]
    worst = largest(told)
    return {
        "operands": sum(node.operator == OPERATOR for node in prepared.graph.nodes),
        "calibration_samples": 1 if graph.operands else SAMPLES,
        "max_relative_error": worst.relative,
        "norm_error": worst.norm,
    }
