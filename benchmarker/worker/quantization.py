"""Scales of a quantized problem: from its own weights, and from what its operands are on a few samples in float64.

They follow from the job alone, so that the framework and the reference compute with the same ones.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarker.graph.graph import Graph
from benchmarker.graph.transformations.quantize import (
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


def quantized(job: Any, graph: Graph, make: Callable[[int], Graph]) -> Graph:
    """Return the graph of a job's problem with the scales that belong to the job.

    Parameters
    ----------
    job : ProblemJob
        One of inference, with a seed and ``data``.
    graph : Graph
        Of any number of samples.
    make : callable
        Returns the graph, not quantized, of a number of samples.
    """
    return quantize(graph, _scales(_Calibration(job, make)))


class _Calibration:
    """A job by what decides its scales, so that they are computed once per process."""

    def __init__(self, job: Any, make: Callable[[int], Graph]) -> None:
        self.job, self.make = job, make
        parameters = tuple(sorted((name, repr(value)) for name, value in job.problem_parameters.items()))
        self._key = (job.problem, parameters, job.seed, job.data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Calibration) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@functools.lru_cache(maxsize=4)
def _scales(calibration: _Calibration) -> Mapping[Operand, Scale]:
    from benchmarker.data import values
    from benchmarker.data.batches import mini_batches

    job = calibration.job
    graph = calibration.make(calibration_samples(calibration.make(1)))
    parameters = values.draw_parameters(graph, job.seed)
    return measured(graph, parameters, mini_batches(graph, job.seed, job.data).batch(MINI_BATCH))


def calibration_samples(graph: Graph) -> int:
    """Return on how many samples ranges are measured: operands are one."""
    return 1 if graph.operands else SAMPLES


def measured(
    graph: Graph, parameters: Mapping[str, Array], batch: Mapping[str, Array]
) -> dict[Operand, Scale]:
    """Return the scale of everything that is quantized: of weights as they are, of tensors on a mini-batch."""
    wanted = all_operands(graph)
    known = {**parameters, **batch}
    computed = tuple(sorted({o.value for o in wanted if o.axis is None and o.value not in known}))
    if computed:
        probed = replace(graph, outputs=computed)
        known.update(zip(computed, _outputs(probed, parameters, batch)))
    return {operand: _scale(operand, known[operand.value]) for operand in wanted}


def _scale(operand: Operand, array: Array) -> Scale:
    if operand.axis is None:
        return affine(float(array.min()), float(array.max()))
    others = tuple(axis for axis in range(array.ndim) if axis != operand.axis)
    return symmetric(abs(array).max(axis=others).tolist())


def _outputs(graph: Graph, parameters: Mapping[str, Array], batch: Mapping[str, Array]) -> tuple[Array, ...]:
    """Return what the reference computes in float64."""
    from benchmarker.api.framework import Device, NoOptions
    from benchmarker.api.optimizer import Optimizer
    from benchmarker.plugins.numpy.framework import NumpyFramework

    program = NumpyFramework().build(
        graph,
        parameters,
        mode="inference",
        device=Device("cpu"),
        precision="fp64",
        optimizer=Optimizer(),
        options=NoOptions(),
    )
    return program.fetch(program.infer(program.load(batch)))
