"""OpenBLAS inside the worker."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device, Framework
from benchmarker.api.optimizer import Optimizer
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.openblas.library import Library
from benchmarker.plugins.openblas.operators import OpenblasOperators
from benchmarker.plugins.openblas.program import OpenblasProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class Openblas(Framework):
    """OpenBLAS: no framework, the library that some frameworks call."""

    operators = OpenblasOperators

    def __init__(self) -> None:
        self._library = Library()

    def version(self) -> str:
        return metadata.version("scipy-openblas32")

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        if device.type != "cpu":
            raise UnsupportedError(f"framework 'openblas' runs on the cpu only, got device '{device.type}'")
        self._library.set_threads(threads)
        return "cpu"

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
    ) -> OpenblasProgram:
        if mode != "inference":
            raise UnsupportedError(f"OpenBLAS has no {mode}, only products of matrices for inference")
        return OpenblasProgram(graph, parameters, self._library.product(precision), precision)

    def libraries(self) -> dict[str, str]:
        return {"openblas": self._library.build()}
