"""What all operators of an ONNX model share: values by name, nodes that are appended, and constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.operators import Operators
from benchmarker.graph.types import TensorType

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass
class OnnxNode:
    """A node of the model under construction; attributes are NumPy-free Python values."""

    kind: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any] = field(default_factory=dict)
    name: str = ""


class NodeOperators(Operators):
    """Every tensor is the name of a value; each method appends nodes.

    A float tensor has the type that the model is made for. Nothing is trained: batch normalization uses its
    running statistics and dropout does nothing.

    Parameters
    ----------
    types : mapping
        Type of each value of the graph.
    dtype : str
        Type of the floating-point tensors.
    batch : str or None
        Name of a value whose first axis is the mini-batch, where the model leaves its size open.
    """

    def __init__(self, types: Mapping[str, TensorType], *, dtype: str, batch: str | None = None) -> None:
        super().__init__(training=False)
        self.nodes: list[OnnxNode] = []
        self.constants: dict[str, Array] = {}
        self._types = types
        self._dtype = dtype
        self._batch = batch
        self._taken: set[str] = set(types)

    def _add(self, kind: str, *inputs: str | None, outputs: int = 1, **attributes: Any) -> Any:
        """Append a node; return the name of its result, or the names of its results."""
        names = [self._unused(kind) for _ in range(outputs)]
        self.nodes.append(OnnxNode(kind, _names(inputs), names, attributes))
        return names[0] if outputs == 1 else tuple(names)

    def _unused(self, stem: str) -> str:
        number = 1
        while (name := f"{stem}_{number}") in self._taken:
            number += 1
        self._taken.add(name)
        return name

    def _shape(self, x: str) -> tuple[int, ...]:
        return self._types[x].shape

    def _constant(self, value: Array) -> str:
        """Return the name of a constant; equal ones are kept once."""
        for name, known in self.constants.items():
            if known.dtype == value.dtype and np.array_equal(known, value):
                return name
        name = self._unused("constant")
        self.constants[name] = value
        return name

    def _number(self, value: float | Sequence[float]) -> str:
        return self._constant(np.asarray(value, self._dtype))

    def _integers(self, values: Sequence[int]) -> str:
        return self._constant(np.asarray(values, np.int64))

    def _with_batch(self, sizes: Sequence[int]) -> Any:
        """Return a shape whose first axis is the mini-batch as the model then runs, the rest ``sizes``."""
        size = self._add("Shape", self._batch, start=0, end=1)
        return self._add("Concat", size, self._integers(sizes), axis=0)


def _names(inputs: Sequence[str | None]) -> list[str]:
    """Return the inputs of a node: an absent one is an empty name, and none stands at the end."""
    names = [name or "" for name in inputs]
    while names and not names[-1]:
        names.pop()
    return names
