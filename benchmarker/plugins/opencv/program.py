"""A program of OpenCV: a net that was read from an ONNX model."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.profile import Call, Profile
from benchmarker.cache import temporary_folder
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.common.integers import require_32_bits
from benchmarker.plugins.common.onnx.model import OnnxModel
from benchmarker.plugins.common.onnx.origins import Origins
from benchmarker.plugins.common.onnx.program import OnnxProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_WARM_UP = 2


class OpenCvProgram(OnnxProgram):
    """A net, whose inputs are copied into it where a step has others than the one before, as its users do."""

    def __init__(self, model: OnnxModel, parameters: Mapping[str, Array]) -> None:
        import cv2

        require_32_bits(parameters)
        super().__init__(model, parameters)
        with temporary_folder() as folder:
            path = model.write(folder)
            # By default it may take another of its engines, and does not say so.
            self._net = cv2.dnn.readNetFromONNX(str(path), cv2.dnn.ENGINE_NEW)
        if self._net.empty():
            raise UnsupportedError(
                f"OpenCV does not read the model of '{model.graph.name}'; what it said is in the log"
            )
        self._names = list(model.outputs)
        self._shapes = [model.graph.types[name].shape for name in self._names]
        self._bound: Any = None

    def _tensor(self, array: Array) -> Any:
        # It has no 64-bit integers inside.
        return np.array(array, np.int32 if array.dtype == np.int64 else None)

    def _array(self, tensor: Any) -> Array:
        return np.asarray(tensor)

    def _outputs(self, output: Any) -> Sequence[Any]:
        return [array.reshape(shape) for array, shape in zip(output, self._shapes)]

    def infer(self, batch: Mapping[str, Any]) -> Any:
        net = self._net
        if batch is not self._bound:
            for name, array in batch.items():
                net.setInput(array, name)
            self._bound = batch
        return list(net.forward(self._names))

    def output_tensors(self, output: Any) -> Sequence[Any]:
        return self._outputs(output)

    def synchronize(self, output: Any) -> None:
        """Return at once: a step returns when it is done."""

    def profile(self, batch: Mapping[str, Any], steps: int) -> Profile:
        import cv2

        net, origins = self._net, Origins(self._model.lowered)
        net.setProfilingMode(cv2.dnn.DNN_PROFILE_DETAILED)
        try:
            for _ in range(_WARM_UP):
                self.infer(batch)
            layers = [(origins.of(name, ""), kind) for name, kind in zip(net.getLayerNames(), _kinds(net))]
            calls, ran, first = [], [], time.perf_counter()
            for step in range(steps):
                start = time.perf_counter()
                self.infer(batch)
                ran.append((start - first, time.perf_counter() - start))
                at = start - first
                for (node, kind), ticks in zip(layers, net.getPerfProfile()[1]):
                    seconds = float(ticks) / cv2.getTickFrequency()
                    calls.append(Call(node, kind, "forward", at, seconds, step=step))
                    at += seconds
        finally:
            net.setProfilingMode(cv2.dnn.DNN_PROFILE_NONE)
        return Profile("OpenCV's getPerfProfile", tuple(calls), tuple(ran))


def _kinds(net: Any) -> list[str]:
    """Return the type of each layer."""
    return [net.getLayer(name).type for name in net.getLayerNames()]
