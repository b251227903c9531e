"""A program of ONNX Runtime: the graph as a session, its inputs and outputs bound to the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.onnx.model import OnnxModel
from benchmarker.plugins.common.onnx.program import OnnxProgram
from benchmarker.plugins.onnxruntime.profiler import INTEGER_PRODUCTS, profile
from benchmarker.plugins.onnxruntime.sessions import Sessions, Setting

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.api.profile import Profile

    Array = npt.NDArray[Any]


class OnnxRuntimeProgram(OnnxProgram):
    """A session whose inputs and outputs stay on the device.

    Its outputs are in the same memory after each step, so those of one are there until the next.
    """

    def __init__(self, graph: Graph, parameters: Mapping[str, Array], setting: Setting) -> None:
        model = OnnxModel.of(graph, parameters, dtype=setting.dtype)
        super().__init__(model, parameters)
        self._sessions = Sessions(model, setting)
        session = self._sessions.make()
        self._run = session.run_with_iobinding
        self._binding = self._bind_outputs(session.io_binding())
        self._bound: Any = None

    def _bind_outputs(self, binding: Any) -> Any:
        """Have the next step write its outputs to memory on the device that it finds itself."""
        device = self._sessions.setting.device
        for name in self._model.outputs:
            binding.bind_output(name, device.type, device.index)
        return binding

    def _tensor(self, array: Array) -> Any:
        import onnxruntime

        device = self._sessions.setting.device
        return onnxruntime.OrtValue.ortvalue_from_numpy(array, device.type, device.index)

    def _array(self, tensor: Any) -> Array:
        return np.asarray(tensor.numpy())

    def _outputs(self, output: Any) -> Sequence[Any]:
        return output.get_outputs()  # type: ignore[no-any-return]

    def _bind(self, batch: Mapping[str, Any]) -> None:
        for name, value in batch.items():
            self._binding.bind_ortvalue_input(name, value)
        self._bound = batch

    def infer(self, batch: Mapping[str, Any]) -> Any:
        if batch is not self._bound:
            self._bind(batch)
        self._run(self._binding)
        return self._binding

    def output_tensors(self, output: Any) -> Sequence[Any]:
        found = output.get_outputs()
        # The next step has memory of its own, so that these stay as they are while it reads them.
        self._bind_outputs(output)
        return found  # type: ignore[no-any-return]

    def synchronize(self, output: Any) -> None:
        # On a CPU a run returns when it is done.
        if self._sessions.setting.device.type != "cpu":
            output.synchronize_outputs()

    def integer_products(self) -> int | None:
        if self._sessions.setting.is_chosen:
            return None  # others show all of a model as one kernel
        # The profile tells a kernel by its name, as it does a node.
        ran = self.profile(self._bound, 1).calls
        return sum(call.native in INTEGER_PRODUCTS for call in ran)

    def profile(self, batch: Mapping[str, Any], steps: int) -> Profile:
        def run(session: Any) -> None:
            binding = self._bind_outputs(session.io_binding())
            for name, value in batch.items():
                binding.bind_ortvalue_input(name, value)
            session.run_with_iobinding(binding)
            binding.synchronize_outputs()

        return profile(self._sessions, run, steps)
