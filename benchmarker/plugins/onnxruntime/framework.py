"""ONNX Runtime itself, inside the worker."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.framework import Device, Framework, Program
from benchmarker.api.optimizer import Optimizer
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.graph.onnx.writer.operators import OnnxOperators
from benchmarker.plugins.onnxruntime.program import OnnxRuntimeProgram
from benchmarker.plugins.onnxruntime.sessions import ERRORS_ONLY, Setting

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.plugins.onnxruntime import Options

    Array = npt.NDArray[Any]


class OnnxRuntime(Framework):
    """ONNX Runtime."""

    operators = OnnxOperators
    later_imports = ("onnx", "onnx.helper", "onnx.numpy_helper")

    def __init__(self) -> None:
        import onnxruntime

        self._onnxruntime: Any = onnxruntime
        self._threads = 0
        onnxruntime.set_default_logger_severity(ERRORS_ONLY)

    def version(self) -> str:
        return str(self._onnxruntime.__version__)

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        # Each session has threads of its own and takes their number when it is made.
        self._threads = threads
        self._onnxruntime.set_seed(seed)
        if device.type == "cpu":
            return "cpu"
        self._open_gpu(device)
        return f"{device.type}:{device.index}"

    def _open_gpu(self, device: Device) -> None:
        runtime = self._onnxruntime
        available = "CUDAExecutionProvider" in runtime.get_available_providers()
        try:
            if available:
                runtime.preload_dlls()
                runtime.OrtValue.ortvalue_from_numpy(np.zeros(1, np.float32), device.type, device.index)
                return
        except RuntimeError as error:
            raise self._no_device(device) from error
        raise self._no_device(device)

    def _no_device(self, device: Device) -> UnsupportedError:
        return UnsupportedError(
            f"ONNX Runtime {self.version()} sees no '{device.type}:{device.index}'; use the device 'cpu', or "
            "an ONNX Runtime built for the CUDA of this machine"
        )

    def build(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        mode: str,
        device: Device,
        precision: str,
        optimizer: Optimizer,
        options: Options,
    ) -> Program:
        if mode != "inference":
            raise UnsupportedError(f"ONNX Runtime has no {mode}, only inference")
        return OnnxRuntimeProgram(graph, parameters, Setting(device, precision, self._threads, options))

    def libraries(self) -> dict[str, str]:
        import onnx

        runtime = self._onnxruntime
        found = {"onnx": str(onnx.__version__), "mlas": "built in, version not reported"}
        commit = re.search(r"git-commit-id=(\w+)", runtime.get_build_info())
        if commit:
            found["onnxruntime_commit"] = commit.group(1)
        if runtime.cuda_version:
            found["cuda"] = str(runtime.cuda_version)
        return found

    def out_of_memory_signs(self) -> Sequence[str]:
        return (
            "Failed to allocate memory for requested buffer",
            "CUDA_ERROR_OUT_OF_MEMORY",
            "bad allocation",
        )
