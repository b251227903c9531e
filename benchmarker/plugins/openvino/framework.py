"""OpenVINO itself, inside the worker."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device
from benchmarker.api.program import Program
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.onnx.framework import OnnxFramework
from benchmarker.plugins.common.onnx.model import OnnxModel
from benchmarker.plugins.openvino.compiling import Compiler, Setting
from benchmarker.plugins.openvino.operators import OpenVinoOperators
from benchmarker.plugins.openvino.program import OpenVinoProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.plugins.openvino import Options

    Array = npt.NDArray[Any]


class OpenVino(OnnxFramework):
    """OpenVINO, whose plug-in for the CPU runs a model."""

    title = "OpenVINO"
    operators = OpenVinoOperators

    def __init__(self) -> None:
        # Importing it would send events from a thread of their own, also while steps are timed, and write to the user's
        # home; without that package it goes without.
        sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
        import openvino

        self._openvino: Any = openvino
        self._core = openvino.Core()

    def version(self) -> str:
        return str(self._openvino.__version__).partition("-")[0]

    def program(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        device: Device,
        precision: str,
        options: Options,
    ) -> Program:
        setting = Setting(precision, self.threads, options)
        model = OnnxModel.of(graph, parameters, operators=OpenVinoOperators)
        return OpenVinoProgram(model, parameters, Compiler(self._core, model, setting))

    def libraries(self) -> dict[str, str]:
        build = str(self._openvino.get_version())
        return {**super().libraries(), "openvino_build": build, "onednn": "built in, version not reported"}

    def out_of_memory_signs(self) -> Sequence[str]:
        return ("Failed to allocate", "bad_alloc")
