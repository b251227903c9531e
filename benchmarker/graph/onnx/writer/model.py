"""A graph as an ONNX model, and the file that holds it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.graph.onnx.writer.lowering import Lowered
from benchmarker.graph.onnx.writer.nodes import OnnxNode
from benchmarker.graph.types import TensorType

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

OPSET = 23
"""The first with Attention, RMSNormalization and RotaryEmbedding, for all of which ONNX Runtime has kernels."""
BATCH = "batch"
"""Name of a mini-batch's size that is left open."""
MAX_FILE = 2**31 - 2**20
"""Protocol buffers end at 2 GiB; the parameters of a larger model go into a file of their own."""
_ALIGNMENT = 4096
"""Tensors that begin at a page can be mapped into memory."""


def make_model(
    graph: Graph,
    lowered: Lowered,
    *,
    dtype: str = "float32",
    open_axes: Mapping[str, Sequence[int]] | None = None,
    metadata: Mapping[str, str] | None = None,
    version: str = "",
) -> Any:
    """Return an ``onnx.ModelProto`` whose parameters have types and no values yet.

    Parameters
    ----------
    graph : Graph
        What it computes.
    lowered : Lowered
        Its nodes, from :func:`~benchmarker.graph.onnx.writer.lowering.lower`.
    dtype : str
        Type of the floating-point tensors.
    open_axes : mapping, optional
        For each input and output the axes whose size depends on the mini-batch, which is left open.
    metadata : mapping, optional
        What the model says of itself.
    version : str
        Of benchmarker, which the model names as its producer.
    """
    from onnx import helper, numpy_helper

    left_open = open_axes or {}

    def described(name: str, type_: TensorType) -> Any:
        sizes: list[int | str | None] = list(type_.shape)
        for axis in left_open.get(name, ()):
            sizes[axis] = BATCH if type_.shape[axis] == graph.batch_size else None
        return helper.make_tensor_value_info(name, _number(type_, dtype), sizes)

    made = helper.make_graph(
        [_node(node) for node in lowered.nodes],
        graph.name,
        [described(i.name, i.type) for i in graph.inputs],
        [described(name, graph.types[name]) for name in dict.fromkeys(graph.outputs)],
        [
            *(_placeholder(p.name, p.type, dtype) for p in graph.parameters),
            *(numpy_helper.from_array(value, name) for name, value in lowered.constants.items()),
        ],
    )
    opset = helper.make_opsetid("", OPSET)
    model = helper.make_model(
        made,
        opset_imports=[opset],
        ir_version=helper.find_min_ir_version_for([opset]),
        producer_name="benchmarker",
        producer_version=version,
    )
    helper.set_model_props(model, dict(metadata or {}))
    return model


def _node(node: OnnxNode) -> Any:
    from onnx import helper

    return helper.make_node(node.kind, node.inputs, node.outputs, name=node.name, **node.attributes)


def element_type(type_: TensorType, dtype: str) -> str:
    """Return the type of a tensor's elements in a model whose floating-point tensors are ``dtype``."""
    return dtype if type_.dtype == "float32" else type_.dtype


def _number(type_: TensorType, dtype: str) -> int:
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(np.dtype(element_type(type_, dtype))))


def _placeholder(name: str, type_: TensorType, dtype: str) -> Any:
    """Return a parameter whose values are elsewhere."""
    import onnx

    tensor = onnx.TensorProto(name=name, dims=type_.shape, data_type=_number(type_, dtype))
    _refer(tensor, "parameters", 0, type_.elements * np.dtype(element_type(type_, dtype)).itemsize)
    return tensor


def _refer(tensor: Any, location: str, offset: int, length: int) -> None:
    """Say where the values of a tensor are."""
    del tensor.external_data[:]
    tensor.data_location = type(tensor).EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))


def write_model(
    model: Any, parameters: Mapping[str, Array], path: Path, largest: int = MAX_FILE
) -> tuple[Path, ...]:
    """Write a model with the values of its parameters and return the files: one, or two if it is large.

    Parameters
    ----------
    model : onnx.ModelProto
        From :func:`make_model`.
    parameters : mapping
        Values by name.
    path : Path
        The file; that of the parameters of a large model has ``.data`` added to its name.
    largest : int
        Bytes of parameters that go into the model's own file at most.
    """
    import onnx

    tensors = [t for t in model.graph.initializer if t.name in parameters]
    if sum(parameters[t.name].nbytes for t in tensors) > largest:
        data = path.with_name(path.name + ".data")
        _write_external(tensors, parameters, data)
        onnx.save_model(model, str(path))
        return path, data
    fill(tensors, parameters)
    onnx.save_model(model, str(path))
    return (path,)


def fill(tensors: Iterable[Any], values: Mapping[str, Array]) -> None:
    """Put values by name into tensors, ``onnx.TensorProto``, that have none yet."""
    for tensor in tensors:
        del tensor.external_data[:]
        tensor.data_location = type(tensor).DEFAULT
        tensor.raw_data = _little_endian(values[tensor.name])


def _write_external(tensors: Sequence[Any], parameters: Mapping[str, Array], path: Path) -> None:
    with path.open("wb") as stream:
        for tensor in tensors:
            offset = math.ceil(stream.tell() / _ALIGNMENT) * _ALIGNMENT
            stream.write(b"\0" * (offset - stream.tell()))
            values = _little_endian(parameters[tensor.name])
            stream.write(values)
            _refer(tensor, path.name, offset, len(values))


def _little_endian(values: Array) -> bytes:
    return values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()


def check_file(path: Path) -> None:
    """Check a model by the ONNX project's checker, types and shapes included.

    Raises
    ------
    onnx.checker.ValidationError, onnx.shape_inference.InferenceError
        If it is no valid model.
    """
    import onnx

    # By its path: the checker of a message in memory ends at 2 GiB.
    onnx.checker.check_model(str(path), full_check=True)
