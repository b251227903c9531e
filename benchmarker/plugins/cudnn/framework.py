"""cuBLAS and cuDNN inside the worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.inference import InferenceFramework
from benchmarker.plugins.cudnn import DISTRIBUTIONS
from benchmarker.plugins.cudnn.elements import ELEMENTS
from benchmarker.plugins.cudnn.library import OUT_OF_MEMORY, Library
from benchmarker.plugins.cudnn.program import CudnnProgram
from benchmarker.plugins.cudnn.recurrent import RecurrentOperators

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.plugins.cudnn import Options

    Array = npt.NDArray[Any]


class Cudnn(InferenceFramework):
    """cuBLAS and cuDNN on a GPU: no framework, the libraries that frameworks call."""

    title = "cuDNN"
    operators = RecurrentOperators

    def __init__(self) -> None:
        self._library = Library()

    def version(self) -> str:
        return metadata.version(DISTRIBUTIONS[-1])

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        """Take the GPU; the host's threads have nothing to compute."""
        return self._library.start(device.index)

    def program(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        device: Device,
        precision: str,
        options: Options,
    ) -> CudnnProgram:
        times = options.algorithm == "best"
        return CudnnProgram(graph, parameters, self._library, ELEMENTS[precision], times_algorithms=times)

    def libraries(self) -> dict[str, str]:
        return self._library.versions()

    def out_of_memory_signs(self) -> Sequence[str]:
        return (OUT_OF_MEMORY,)
