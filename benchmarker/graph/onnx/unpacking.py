"""``.onnx`` to plain files: JSON for the graph, ``.npy`` for tensors. Only code here reads the format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarker.errors import UsageError, first_line
from benchmarker.graph.onnx.plain import MODEL_FILE

_OWN_DOMAINS = ("", "ai.onnx")
_WITHOUT_OWN = 7
"""Opset of a model that imports none, as it uses no operator of ONNX's own: the oldest that is read."""


def unpack(path: Path, folder: Path) -> None:
    """Unpack the model at ``path`` into ``folder``, which is there and empty.

    Raises
    ------
    UsageError
        If it is no ONNX model, is not valid, or its external data are not files inside its own folder.
    """
    import onnx

    try:
        model = onnx.load_model(str(path), load_external_data=False)
    except Exception:
        # What the parser says is about its wire format, not about the file.
        raise UsageError(f"'{path}' is not an ONNX model, or is damaged") from None
    if not model.graph.node:
        raise UsageError(f"'{path}' is not an ONNX model: it has no operators")
    external = _load_external(model, path)
    try:
        onnx.checker.check_model(model)
    except Exception as error:
        raise UsageError(f"'{path}' is not a valid ONNX model: {first_line(error)}") from None
    if model.functions:
        from onnx.inliner import inline_local_functions

        model = inline_local_functions(model)
    data = describe(model, folder)
    data["external"] = external
    (folder / MODEL_FILE).write_text(json.dumps(data), encoding="utf-8")


def describe(model: Any, folder: Path) -> dict[str, Any]:
    """Return a ``ModelProto`` as JSON values; its tensors are written to ``folder``."""
    return _Unpacked(folder).model(model)


def _load_external(model: Any, path: Path) -> list[str]:
    """Load the tensors that are in files of their own, and return the names of those files."""
    from onnx import TensorProto
    from onnx.external_data_helper import load_external_data_for_tensor

    root = path.resolve().parent
    locations: dict[str, None] = {}
    for tensor in _tensors(model):
        if tensor.data_location != TensorProto.EXTERNAL:
            continue
        location = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
        file = (root / location).resolve()
        if not location or root not in file.parents or not file.is_file():
            raise UsageError(
                f"the external data of '{path}' must be files inside its own folder, got '{location}' for "
                f"'{tensor.name}'"
            )
        try:
            load_external_data_for_tensor(tensor, str(root))
        except Exception as error:
            raise UsageError(f"the external data of '{path}' cannot be read: {first_line(error)}") from None
        tensor.data_location = TensorProto.DEFAULT
        del tensor.external_data[:]
        locations[location] = None
    return list(locations)


def _tensors(model: Any) -> list[Any]:
    """Return every tensor of the model that may be in a file of its own."""
    functions = [tensor for function in model.functions for tensor in _tensors_of(function.node)]
    return [*model.graph.initializer, *_tensors_of(model.graph.node), *functions]


def _tensors_of(nodes: Any) -> list[Any]:
    found: list[Any] = []
    for node in nodes:
        for attribute in node.attribute:
            found += [attribute.t, *attribute.tensors] if attribute.type in (4, 9) else []
            if attribute.type == 5:
                found += [*attribute.g.initializer, *_tensors_of(attribute.g.node)]
    return found


class _Unpacked:
    """Writes tensors into a folder, and describes what refers to them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def model(self, model: Any) -> dict[str, Any]:
        """Return the graph as JSON values."""
        versions = [o.version for o in model.opset_import if o.domain in _OWN_DOMAINS]
        return {
            "producer": f"{model.producer_name} {model.producer_version}".strip(),
            "opset": max(versions, default=_WITHOUT_OWN),
            **self._graph(model.graph),
        }

    def _graph(self, graph: Any) -> dict[str, Any]:
        """Return a graph, that of the model or one inside a node, as JSON values."""
        initializers = {t.name: self._file(t) for t in graph.initializer}
        return {
            "inputs": [_declared(i) for i in graph.input if i.name not in initializers],
            "outputs": [_declared(o) for o in graph.output],
            "initializers": initializers,
            "nodes": [self._node(node) for node in graph.node],
        }

    def _node(self, node: Any) -> dict[str, Any]:
        own = node.domain in _OWN_DOMAINS
        return {
            "operator": node.op_type if own else f"{node.domain}.{node.op_type}",
            "name": node.name,
            "inputs": list(node.input),
            "outputs": list(node.output),
            "attributes": {a.name: self._attribute(a) for a in node.attribute},
        }

    def _attribute(self, attribute: Any) -> Any:
        from onnx import AttributeProto, helper

        plain = (
            AttributeProto.FLOAT,
            AttributeProto.INT,
            AttributeProto.STRING,
            AttributeProto.FLOATS,
            AttributeProto.INTS,
            AttributeProto.STRINGS,
        )
        if attribute.type == AttributeProto.TENSOR:
            return {"tensor": self._file(attribute.t)}
        if attribute.type == AttributeProto.GRAPH:
            return {"graph": self._graph(attribute.g)}
        if attribute.type not in plain:
            return {"unread": AttributeProto.AttributeType.Name(attribute.type).lower()}
        return _text(helper.get_attribute_value(attribute))

    def _file(self, tensor: Any) -> str:
        from onnx import numpy_helper

        array = np.asarray(numpy_helper.to_array(tensor))
        if array.dtype.kind not in "biuf":
            # Types that NumPy lacks come from ml_dtypes; texts are kept out, as no operator here takes them.
            array = array.astype(np.float32) if array.dtype.kind == "V" else np.zeros(0, np.float32)
        name = f"{self._count}.npy"
        self._count += 1
        np.save(self._folder / name, array, allow_pickle=False)
        return name


def _text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return [_text(item) for item in value] if isinstance(value, (list, tuple)) else value


def _declared(value: Any) -> dict[str, Any]:
    """Return an input or output as JSON values."""
    kind = value.type.tensor_type if value.type.HasField("tensor_type") else None
    sizes = None
    if kind is not None and kind.HasField("shape"):
        sizes = [_size(dimension) for dimension in kind.shape.dim]
    return {"name": value.name, "dtype": _dtype(kind), "dimensions": sizes}


def _size(dimension: Any) -> int | str | None:
    if dimension.HasField("dim_value"):
        return int(dimension.dim_value)
    return str(dimension.dim_param) or None


def _dtype(kind: Any) -> str:
    from onnx import TensorProto

    name = TensorProto.DataType.Name(kind.elem_type).lower() if kind is not None else ""
    numbers = {"float": "float32", "double": "float64"}
    known = ("float16", "bfloat16", "bool", "int64", "int32", "int16", "int8")
    unsigned = ("uint8", "uint16", "uint32", "uint64")
    return numbers.get(name, name if name in (*known, *unsigned) else "")
