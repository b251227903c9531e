"""How far a quantized network is from the one that it was made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarker.data import values
from benchmarker.errors import UnsupportedError
from benchmarker.graph.transformations.quantize import OPERATOR, quantized_operands
from benchmarker.worker.job import RunJob
from benchmarker.worker.loading import problem_graph
from benchmarker.worker.quantization import calibration_samples
from benchmarker.worker.verification import reference
from benchmarker.worker.verification.samples import errors, largest, tensor_sample

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.worker.program import Prepared

    Array = npt.NDArray[Any]


def quantization_errors(job: RunJob, prepared: Prepared, found: Sequence[Array]) -> dict[str, Any]:
    """Return how far outputs of the first samples are from those of the graph as it was, in float64."""
    samples = job.verification_samples
    graph = problem_graph(replace(job, precision="fp32"), samples)
    batch = prepared.batch if samples == job.batch_size else values.first_samples(prepared.batch, samples)
    exact = reference.results(graph, dict(prepared.parameters), batch, "inference", "fp64")
    output_errors = [
        errors(tensor_sample(name, array), tensor_sample(name, exact[name][1]))
        for name, array in zip(graph.outputs, found)
    ]
    worst = largest(output_errors)
    products = len(quantized_operands(graph))
    computed = prepared.program.integer_products()
    if computed == 0 < products:
        raise UnsupportedError(
            f"none of the {products} products is computed in integers here, so this is not int8; use fp32"
        )
    return {
        "operands": sum(node.operator == OPERATOR for node in prepared.graph.nodes),
        "calibration_samples": calibration_samples(graph),
        "max_relative_error": worst.relative,
        "norm_error": worst.norm,
        "products": products,
        "integer_products": computed,
    }
