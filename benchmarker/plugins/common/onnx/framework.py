"""What engines that take ONNX models are inside the worker: inference alone, by the nodes that ONNX has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from benchmarker.api.framework import Device
from benchmarker.graph.onnx.writer.operators import OnnxOperators
from benchmarker.plugins.common.inference import InferenceFramework


class OnnxFramework(InferenceFramework):
    """An engine that takes ONNX models."""

    operators = OnnxOperators
    later_imports: ClassVar[Sequence[str]] = ("onnx", "onnx.helper", "onnx.numpy_helper")
    threads: int = 0
    """Of an operator; engines take their number when a program is made."""

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        self.threads = threads
        return device.type

    def libraries(self) -> dict[str, str]:
        import onnx

        return {"onnx": str(onnx.__version__)}
