"""What engines that take ONNX models are inside the worker: inference alone, by the nodes that ONNX has."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from benchmarker.api.framework import Device, Framework, Program
from benchmarker.api.optimizer import Optimizer
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.graph.onnx.writer.operators import OnnxOperators

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class OnnxFramework(Framework):
    """An engine that takes ONNX models."""

    operators = OnnxOperators
    later_imports = ("onnx", "onnx.helper", "onnx.numpy_helper")
    title: ClassVar[str]
    """What it is called in sentences."""
    threads: int = 0
    """Of an operator; engines take their number when a program is made."""

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        self.threads = threads
        return device.type

    def build(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        mode: str,
        device: Device,
        precision: str,
        optimizer: Optimizer,
        options: Any,
    ) -> Program:
        if mode != "inference":
            raise UnsupportedError(f"{self.title} has no {mode}, only inference")
        return self.program(graph, parameters, device=device, precision=precision, options=options)

    @abstractmethod
    def program(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        device: Device,
        precision: str,
        options: Any,
    ) -> Program:
        """Return the program of a graph without a loss; see :meth:`build`."""

    def libraries(self) -> dict[str, str]:
        import onnx

        return {"onnx": str(onnx.__version__)}
