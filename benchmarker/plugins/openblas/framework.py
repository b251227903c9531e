"""OpenBLAS inside the worker."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.inference import InferenceFramework
from benchmarker.plugins.openblas.library import Library
from benchmarker.plugins.openblas.operators import OpenblasOperators
from benchmarker.plugins.openblas.program import OpenblasProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class Openblas(InferenceFramework):
    """OpenBLAS: no framework, the library that some frameworks call."""

    title = "OpenBLAS"
    operators = OpenblasOperators

    def __init__(self) -> None:
        self._library = Library()

    def version(self) -> str:
        return metadata.version("scipy-openblas32")

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        self._library.set_threads(threads)
        return device.type

    def program(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        device: Device,
        precision: str,
        options: Any,
    ) -> OpenblasProgram:
        return OpenblasProgram(graph, parameters, self._library.product(precision), precision)

    def libraries(self) -> dict[str, str]:
        return {"openblas": self._library.build()}
