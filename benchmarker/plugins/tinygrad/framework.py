"""tinygrad inside the worker: its compiler, its one device and its programs."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device, Framework
from benchmarker.api.optimizer import Optimizer
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.tinygrad import COMPILER
from benchmarker.plugins.tinygrad.operators import TinygradOperators
from benchmarker.plugins.tinygrad.program import TinygradProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class Tinygrad(Framework):
    """tinygrad; the constructor imports it."""

    operators = TinygradOperators

    def __init__(self) -> None:
        import tinygrad

        self._tinygrad: Any = tinygrad

    def version(self) -> str:
        from importlib import metadata

        return metadata.version("tinygrad")

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        if device.type != "cpu":
            raise UnsupportedError(f"framework 'tinygrad' runs on the cpu alone, not on '{device.type}'")
        tensor = self._tinygrad.Tensor
        tensor.manual_seed(seed)
        # The generator is made by its first number, and must be there before a step is recorded.
        tensor.rand(1).realize()
        tensor.realize(*tensor._device_seeds.values(), *tensor._device_rng_counters.values())
        return str(self._tinygrad.Device.DEFAULT).lower()

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
    ) -> TinygradProgram:
        return TinygradProgram(graph, parameters, mode, optimizer)

    def libraries(self) -> dict[str, str]:
        output = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=False).stdout
        return {"clang": output.partition("\n")[0], "threads": "1"}
