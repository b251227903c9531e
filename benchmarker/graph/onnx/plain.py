"""An ONNX model as plain files: what the importer reads, without the package ``onnx``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_MAPPED_BYTES = 1 << 16
MODEL_FILE = "model.json"
FORM = 4
"""Of the files; raised with every change, so that those of an older form are not read."""
FLOATS = ("float32", "float16", "float64", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64")


@dataclass(frozen=True)
class Tensor:
    """An input or output of the model.

    Parameters
    ----------
    name : str
        As the model names it.
    dtype : str
        NumPy's name, ``bfloat16``, or ``""`` where it is no tensor of numbers.
    dimensions : tuple of int, str or None
        The size of each axis: known, symbolic, or unnamed; None where even their number is unknown.
    """

    name: str
    dtype: str
    dimensions: tuple[int | str | None, ...] | None


@dataclass(frozen=True)
class PlainNode:
    """One application of an ONNX operator.

    Parameters
    ----------
    operator : str
        ``op_type``, after ``domain.`` where that is not ONNX's own.
    name : str
        May be empty, and need not be unique.
    inputs, outputs : tuple of str
        Names of values; ``""`` is an absent optional one.
    attributes : mapping
        JSON values; ``{"tensor": FILE}`` for a tensor, ``{"graph": ...}`` for a graph, ``{"unread": KIND}`` for others.
    """

    operator: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class PlainGraph:
    """A graph inside a node: a branch or the body of a loop.

    Parameters
    ----------
    inputs, outputs : tuple of Tensor
        What the node gives it and takes of it.
    initializers : mapping
        Name to file.
    nodes : tuple of PlainNode
        In topological order; they also see the values around the node.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    initializers: Mapping[str, str]
    nodes: tuple[PlainNode, ...]


def graph_from_json(data: Mapping[str, Any]) -> PlainGraph:
    """Return the graph that ``data`` describes."""
    return PlainGraph(
        tuple(map(_tensor, data["inputs"])),
        tuple(map(_tensor, data["outputs"])),
        data["initializers"],
        tuple(
            PlainNode(n["operator"], n["name"], tuple(n["inputs"]), tuple(n["outputs"]), n["attributes"])
            for n in data["nodes"]
        ),
    )


@dataclass(frozen=True)
class PlainModel:
    """A model's graph; its tensors are in ``.npy`` files of ``folder``.

    Parameters
    ----------
    folder : Path
        Holds the files.
    producer : str
        What wrote the model.
    opset : int
        Version of ONNX's own operators.
    inputs, outputs : tuple of Tensor
        Without the initializers.
    initializers : mapping
        Name to file.
    nodes : tuple of PlainNode
        In topological order.
    """

    folder: Path
    producer: str
    opset: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    initializers: Mapping[str, str]
    nodes: tuple[PlainNode, ...]

    def path(self, file: str) -> Path:
        """Return the path of a tensor's file."""
        return self.folder / file

    def array(self, file: str) -> Array:
        """Return a tensor; a large one stays in its file until it is looked at."""
        path = self.path(file)
        mode: Any = "r" if path.stat().st_size > _MAPPED_BYTES else None
        array: Array = np.load(path, mmap_mode=mode, allow_pickle=False)
        return array


def read_model(folder: Path) -> PlainModel:
    """Read what :mod:`benchmarker.graph.onnx.unpacking` wrote."""
    data = json.loads((folder / MODEL_FILE).read_text(encoding="utf-8"))
    return model_from_json(data, folder)


def model_from_json(data: Mapping[str, Any], folder: Path) -> PlainModel:
    """Return the model that ``data`` describes, its files in ``folder``."""
    graph = graph_from_json(data)
    return PlainModel(
        folder,
        data["producer"],
        data["opset"],
        graph.inputs,
        graph.outputs,
        graph.initializers,
        graph.nodes,
    )


def _tensor(data: Mapping[str, Any]) -> Tensor:
    sizes = data["dimensions"]
    return Tensor(data["name"], data["dtype"], None if sizes is None else tuple(sizes))
