"""What engines that only infer are inside the worker."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from benchmarker.api.framework import Device, Framework
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class InferenceFramework(Framework):
    """An engine without backward passes."""

    title: ClassVar[str]
    """What it is called in sentences."""

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
