"""OpenCV itself, inside the worker."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device, NoOptions
from benchmarker.api.program import Program
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.onnx.framework import OnnxFramework
from benchmarker.plugins.common.onnx.model import OnnxModel
from benchmarker.plugins.opencv.operators import OpenCvOperators
from benchmarker.plugins.opencv.program import OpenCvProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class OpenCv(OnnxFramework):
    """OpenCV, whose module ``dnn`` runs a model."""

    title = "OpenCV"
    operators = OpenCvOperators

    def __init__(self) -> None:
        import cv2

        self._cv2: Any = cv2

    def version(self) -> str:
        return str(self._cv2.version.opencv_version)

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        self._cv2.setNumThreads(threads)
        self._cv2.setRNGSeed(seed)
        return super().configure(device, threads=threads, seed=seed)

    def program(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        device: Device,
        precision: str,
        options: NoOptions,
    ) -> Program:
        model = OnnxModel.of(graph, parameters, operators=OpenCvOperators)
        return OpenCvProgram(model, parameters)

    def libraries(self) -> dict[str, str]:
        found = re.search(r"Parallel framework:\s*(\S+)", self._cv2.getBuildInformation())
        return {**super().libraries(), **({"opencv_parallel": found.group(1)} if found else {})}

    def out_of_memory_signs(self) -> Sequence[str]:
        return ("Insufficient memory", "Failed to allocate")
