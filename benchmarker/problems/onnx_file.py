"""An ONNX model as a problem: symbolic dimensions and the loss are its parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from benchmarker.api.problem import Problem
from benchmarker.api.rules import MAX_COUNT, Choice, Whole
from benchmarker.errors import UsageError
from benchmarker.graph.network import Network
from benchmarker.graph.onnx.dimensions import Dimensions, read_dimensions
from benchmarker.graph.onnx.plain import FLOATS, INTEGERS, PlainModel, read_model
from benchmarker.graph.onnx.reader.importer import Importer
from benchmarker.graph.onnx.reader.indices import index_bounds
from benchmarker.graph.onnx.reader.outputs import output_value
from benchmarker.graph.recorder import Value
from benchmarker.graph.types import Distribution

LOSSES = ("none", "softmax_cross_entropy", "mean_squared_error", "binary_cross_entropy")
_BATCH_SIZE = 4
_REDUCED_BATCH_SIZE = 2
_HALF = Distribution("constant", 1.0, probability=0.5)
"""Targets of 0 and 1."""


def imported_problem(name: str, folder: str, digest: str) -> Problem:
    """Return the problem of an unpacked model.

    Parameters
    ----------
    name : str
        The problem's name.
    folder : str
        Where it was unpacked.
    digest : str
        SHA-256 of the model, in hexadecimal; records of different ones are not compared.

    Raises
    ------
    UsageError
        If the shapes of its inputs cannot be told.
    """
    model = read_model(Path(folder))
    dimensions = read_dimensions(model, name)
    fixed = dimensions.fixed_batch

    def build(net: Network, parameters: Any) -> None:
        _build(model, dimensions, net, dataclasses.asdict(parameters))

    return Problem(
        name=name,
        task="imported ONNX model",
        source=f"{model.producer or 'unknown producer'}, opset {model.opset}, sha256:{digest}",
        parameters=_parameters(dimensions),
        build=build,
        batch_size=fixed or _BATCH_SIZE,
        reduced_batch_size=fixed or _REDUCED_BATCH_SIZE,
        semantics=int(digest[:12], 16),
    )


def _parameters(dimensions: Dimensions) -> type[Any]:
    size, loss = Annotated[int, Whole(0, MAX_COUNT)], Annotated[str, Choice(LOSSES)]
    fields: list[Any] = [(field, size, dataclasses.field(default=0)) for field in dimensions.fields.values()]
    fields.append(("loss", loss, dataclasses.field(default="none")))
    return dataclasses.make_dataclass("Parameters", fields, frozen=True)


def _build(model: PlainModel, dimensions: Dimensions, net: Network, values: Mapping[str, Any]) -> None:
    shapes = dimensions.shapes(net.batch_size, values)
    _check_types(model, net.name)
    bounds: Mapping[str, int] = {}
    if any(tensor.dtype in INTEGERS for tensor in model.inputs):
        # What integers may be shows only in the graph: it is built once for that.
        draft = Network(net.name, net.batch_size)
        Importer(model, draft, _inputs(model, dimensions, draft, shapes, {})).run()
        bounds = index_bounds(draft)
    found = Importer(model, net, _inputs(model, dimensions, net, shapes, bounds)).run()
    outputs = [output_value(net, found[tensor.name]) for tensor in model.outputs]
    for value in outputs:
        net.output(value)
    if values["loss"] != "none":
        net.loss(_loss(net, dimensions, outputs[0], values["loss"]))


def _check_types(model: PlainModel, owner: str) -> None:
    wrong = [t for t in model.inputs if t.dtype not in (*FLOATS, *INTEGERS, "bool")]
    if wrong:
        found = ", ".join(f"{tensor.name} ({tensor.dtype or 'no tensor'})" for tensor in wrong)
        raise UsageError(
            f"the inputs of '{owner}' must be real numbers, integers or truth values, got {found}"
        )


def _inputs(
    model: PlainModel,
    dimensions: Dimensions,
    net: Network,
    shapes: Mapping[str, tuple[int, ...]],
    bounds: Mapping[str, int],
) -> dict[str, Value]:
    found = {}
    for tensor in model.inputs:
        dtype = "bool" if tensor.dtype == "bool" else "int64" if tensor.dtype in INTEGERS else "float32"
        real = dtype == "float32"
        # Integers that choose nothing are masks and types of segments, of 0 and 1.
        kind = Distribution("normal") if real else Distribution("integers", bounds.get(tensor.name, 2))
        found[tensor.name] = _declare(net, dimensions, tensor.name, shapes[tensor.name], dtype, kind)
    return found


def _declare(
    net: Network,
    dimensions: Dimensions,
    name: str,
    shape: tuple[int, ...],
    dtype: str,
    distribution: Distribution,
) -> Value:
    if dimensions.operands:
        return net.operand(name, shape, dtype, distribution)
    return net.input(name, shape[1:], dtype, distribution)


def _loss(net: Network, dimensions: Dimensions, output: Value, name: str) -> Value:
    """Return the loss of the model's first output against labels or targets that become an input."""
    shape = output.shape
    if not shape or (not dimensions.operands and shape[0] != net.batch_size):
        raise UsageError(
            f"the first output of '{net.name}' must be one row per sample for a loss, got {shape}"
        )
    if name == "softmax_cross_entropy":
        if len(shape) < 2:
            raise UsageError(f"softmax_cross_entropy needs scores (N, C, ...) of '{net.name}', got {shape}")
        chosen = Distribution("integers", shape[1])
        labels = _declare(net, dimensions, _free(net, "labels"), (shape[0], *shape[2:]), "int64", chosen)
        scores = _before(net, output, "softmax", {1, 1 - len(shape)})
        found: Value = net.softmax_cross_entropy_loss(scores, labels)
        return found
    targets = _free(net, "targets")
    if name == "mean_squared_error":
        wanted = _declare(net, dimensions, targets, shape, "float32", Distribution("normal"))
        found = net.mean_squared_error_loss(output, wanted)
    else:
        wanted = _declare(net, dimensions, targets, shape, "float32", _HALF)
        found = net.binary_cross_entropy_loss(_before(net, output, "sigmoid", None), wanted)
    return found


def _before(net: Network, output: Value, operator: str, axes: set[int] | None) -> Value:
    """Return the scores that a last softmax or sigmoid is of: the losses begin with it themselves."""
    (node,) = [node for node in net.nodes if output.name in node.outputs]
    if node.operator != operator or (axes is not None and node.attributes["axis"] not in axes):
        return output
    return Value(node.inputs[0], net.types[node.inputs[0]])


def _free(net: Network, name: str) -> str:
    return name if name not in net.types else _free(net, f"{name}_")
