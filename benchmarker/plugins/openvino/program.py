"""A program of OpenVINO: a compiled model, and the requests that run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.generation import OWN_OUTPUTS
from benchmarker.plugins.common.integers import require_32_bits
from benchmarker.plugins.common.onnx.model import OnnxModel
from benchmarker.plugins.common.onnx.program import OnnxProgram
from benchmarker.plugins.openvino.compiling import Compiler
from benchmarker.plugins.openvino.integers import integer_products
from benchmarker.plugins.openvino.profiler import profile

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.api.profile import Profile

    Array = npt.NDArray[Any]


class OpenVinoProgram(OnnxProgram):
    """Compiled in the first step; inputs and outputs are where they are, without copies.

    With the hint ``latency`` there is one request and a step returns when it is done. With ``throughput`` there are as
    many requests as OpenVINO thinks best, which take turns and run at once.
    """

    def __init__(self, model: OnnxModel, parameters: Mapping[str, Array], compiler: Compiler) -> None:
        require_32_bits(parameters)
        super().__init__(model, parameters)
        self._compiler = compiler
        self._requests: list[Any] = []
        self._bound: list[Any] = []
        self._next = 0
        self._spare: list[Any] = []
        self._at_once = compiler.setting.options.hint == "throughput"

    def _tensor(self, array: Array) -> Any:
        import openvino

        # A copy, as the mini-batch is the caller's; in memory of OpenVINO's own, which is aligned.
        tensor = openvino.Tensor(openvino.Type(array.dtype), openvino.Shape(array.shape))
        tensor.data[...] = array
        return tensor

    def _array(self, tensor: Any) -> Array:
        return np.asarray(tensor.data)

    def _outputs(self, output: Any) -> list[Any]:
        output.wait()
        return [output.get_tensor(name) for name in self._model.outputs]

    def _compile(self) -> None:
        compiled = self._compiler.compile()
        count = compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS") if self._at_once else 1
        self._requests = [compiled.create_infer_request() for _ in range(count)]
        self._bound = [None] * count

    def infer(self, batch: Mapping[str, Any]) -> Any:
        if not self._requests:
            self._compile()
        place = self._next
        request = self._requests[place]
        if self._at_once:
            self._next = (place + 1) % len(self._requests)
            request.wait()
        if batch is not self._bound[place]:
            for name, tensor in batch.items():
                request.set_tensor(name, tensor)
            self._bound[place] = batch
        if self._at_once:
            request.start_async()
        else:
            request.infer(share_outputs=True)
        return request

    def integer_products(self) -> int:
        return integer_products(self._requests[0].get_compiled_model())

    def compilations(self) -> int:
        return int(bool(self._requests))

    def synchronize(self, output: Any) -> None:
        if self._at_once:
            for request in self._requests:
                request.wait()

    def output_tensors(self, output: Any) -> Sequence[Any]:
        found = self._outputs(output)
        # The next step must not write to what it reads: memory of before the last one takes its turn. What was asked
        # for stays as it is.
        spare = self._spare or [_like(tensor) for tensor in found[OWN_OUTPUTS:]]
        following = [*(_like(tensor) for tensor in found[:OWN_OUTPUTS]), *spare]
        for name, tensor in zip(self._model.outputs, following):
            output.set_tensor(name, tensor)
        self._spare = found[OWN_OUTPUTS:]
        return found

    def profile(self, batch: Mapping[str, Any], steps: int) -> Profile:
        return profile(self._compiler.compile(PERF_COUNT=True), self._model.lowered, batch, steps)


def _like(tensor: Any) -> Any:
    """Return memory for another tensor of the same type and shape."""
    return type(tensor)(tensor.element_type, tensor.shape)
