"""ONNX Runtime itself, inside the worker."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.framework import Device
from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.onnx.framework import OnnxFramework
from benchmarker.plugins.onnxruntime.program import OnnxRuntimeProgram
from benchmarker.plugins.onnxruntime.sessions import ERRORS_ONLY, Setting

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.plugins.onnxruntime import Options

    Array = npt.NDArray[Any]


class OnnxRuntime(OnnxFramework):
    """ONNX Runtime."""

    title = "ONNX Runtime"

    def __init__(self) -> None:
        import onnxruntime

        self._onnxruntime: Any = onnxruntime
        onnxruntime.set_default_logger_severity(ERRORS_ONLY)

    def version(self) -> str:
        return str(self._onnxruntime.__version__)

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        # Each session has threads of its own and takes their number when it is made.
        name = super().configure(device, threads=threads, seed=seed)
        self._onnxruntime.set_seed(seed)
        if device.type == "cpu":
            return name
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

    def program(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        device: Device,
        precision: str,
        options: Options,
    ) -> Program:
        return OnnxRuntimeProgram(graph, parameters, Setting(device, precision, self.threads, options))

    def libraries(self) -> dict[str, str]:
        runtime = self._onnxruntime
        found = {**super().libraries(), "mlas": "built in, version not reported"}
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
