"""A program of an engine that takes ONNX models: NumPy at its edges, values in the order of the graph."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.program import Program
from benchmarker.plugins.common.onnx.model import OnnxModel, contiguous

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class OnnxProgram(Program):
    """Inference with a model; an engine says what its tensors are and how it runs.

    Parameters
    ----------
    model : OnnxModel
        What it computes.
    parameters : mapping
        Values of the parameters, in the graph's layout and type.
    """

    def __init__(self, model: OnnxModel, parameters: Mapping[str, Array]) -> None:
        self._model = model
        self._parameters = {p.name: parameters[p.name] for p in model.graph.parameters}

    @abstractmethod
    def _tensor(self, array: Array) -> Any:
        """Return a contiguous array as a native tensor on the device."""

    @abstractmethod
    def _array(self, tensor: Any) -> Array:
        """Return a native tensor as an array, possibly a view of it."""

    @abstractmethod
    def _outputs(self, output: Any) -> Sequence[Any]:
        """Return the native tensors of a step in the order of :attr:`OnnxModel.outputs`."""

    def load(self, batch: Mapping[str, Array]) -> dict[str, Any]:
        return {
            i.name: self._tensor(contiguous(batch[i.name], self._model.dtype))
            for i in self._model.graph.inputs
        }

    def take(self, tensors: Sequence[Any]) -> dict[str, Any]:
        return {declared.name: tensor for declared, tensor in zip(self._model.graph.inputs, tensors)}

    def fetch(self, output: Any) -> tuple[Array, ...]:
        if isinstance(output, tuple):
            return tuple(np.array(self._array(tensor), np.float32) for tensor in output)
        values = dict(zip(self._model.outputs, self._outputs(output)))
        return tuple(np.array(self._array(values[name]), np.float32) for name in self._model.graph.outputs)

    def parameters(self) -> dict[str, Array]:
        return {name: np.array(value) for name, value in self._parameters.items()}
