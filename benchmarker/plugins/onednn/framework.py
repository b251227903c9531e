"""oneDNN inside the worker."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.inference import InferenceFramework
from benchmarker.plugins.onednn import DISTRIBUTION
from benchmarker.plugins.onednn.library import Library
from benchmarker.plugins.onednn.program import OnednnProgram
from benchmarker.plugins.onednn.recurrent import RecurrentOperators

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.plugins.onednn import Options

    Array = npt.NDArray[Any]


class Onednn(InferenceFramework):
    """oneDNN on a CPU: no framework, the library that some frameworks call."""

    title = "oneDNN"
    operators = RecurrentOperators

    def __init__(self) -> None:
        self._library = Library()

    def version(self) -> str:
        return metadata.version(DISTRIBUTION)

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
        options: Options,
    ) -> OnednnProgram:
        return OnednnProgram(graph, parameters, self._library, best=options.layout == "best")

    def libraries(self) -> dict[str, str]:
        return {"onednn": self._library.version()}
