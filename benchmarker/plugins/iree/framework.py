"""IREE itself, inside the worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device
from benchmarker.api.program import Program
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.onnx.framework import OnnxFramework
from benchmarker.plugins.common.onnx.model import OnnxModel
from benchmarker.plugins.iree import COMPILER, RUNTIME
from benchmarker.plugins.iree.compiling import target_cpu
from benchmarker.plugins.iree.operators import IreeOperators
from benchmarker.plugins.iree.program import IreeProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.plugins.iree import Options

    Array = npt.NDArray[Any]


class Iree(OnnxFramework):
    """IREE: its compiler turns a model into a module, which its runtime runs on a CPU."""

    title = "IREE"
    operators = IreeOperators
    later_imports = (
        *OnnxFramework.later_imports,
        "iree.compiler.extras.onnx_importer",
        "iree.compiler.tools",
    )

    def __init__(self) -> None:
        import iree.runtime

        self._runtime: Any = iree.runtime
        self._config: Any = None

    def version(self) -> str:
        return metadata.version(COMPILER)

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        # Read only when the device is created.
        self._runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
        self._config = self._runtime.Config("local-sync" if threads == 1 else "local-task")
        return super().configure(device, threads=threads, seed=seed)

    def program(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        device: Device,
        precision: str,
        options: Options,
    ) -> Program:
        model = OnnxModel.of(graph, parameters, operators=IreeOperators)
        return IreeProgram(model, parameters, self._config, options)

    def libraries(self) -> dict[str, str]:
        return {**super().libraries(), "iree_runtime": metadata.version(RUNTIME), "target_cpu": target_cpu()}

    def out_of_memory_signs(self) -> Sequence[str]:
        return ("RESOURCE_EXHAUSTED",)
