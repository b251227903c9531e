"""A graph as the ONNX model that an engine takes, in memory or in a file, with the values of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.graph.onnx.writer.lowering import Lowered, lower
from benchmarker.graph.onnx.writer.model import make_model, write_model
from benchmarker.graph.onnx.writer.operators import OnnxOperators
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class OnnxModel:
    """A graph as ONNX nodes.

    Parameters
    ----------
    graph : Graph
        Without a loss.
    lowered : Lowered
        Its nodes.
    values : mapping
        Values of its parameters by name, as the model takes them: no copies where the type is the same.
    dtype : str
        Type of its floating-point tensors.
    """

    graph: Graph
    lowered: Lowered
    values: Mapping[str, Array]
    dtype: str

    @classmethod
    def of(
        cls,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        dtype: str = "float32",
        operators: type[OnnxOperators] = OnnxOperators,
    ) -> OnnxModel:
        """Return the model of a graph with an engine's nodes for its operators."""
        values = {p.name: contiguous(parameters[p.name], dtype) for p in graph.parameters}
        return cls(graph, lower(graph, dtype=dtype, operators=operators), values, dtype)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of its outputs: those of the graph, each once."""
        return tuple(dict.fromkeys(self.graph.outputs))

    def message(self) -> bytes:
        """Return the model without the values of its parameters, which go to the engine apart."""
        return bytes(self._proto().SerializeToString())

    def write(self, folder: Path) -> Path:
        """Write the model with all values into a folder and return the file."""
        path = folder / "model.onnx"
        write_model(self._proto(), self.values, path)
        return path

    def _proto(self) -> Any:
        return make_model(self.graph, self.lowered, dtype=self.dtype)


def contiguous(value: Array, dtype: str) -> Array:
    """Return an array as engines take it: contiguous, floating-point numbers in their type."""
    return np.asarray(value, dtype if value.dtype.kind == "f" else None, order="C")
