"""CuPy inside the worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from benchmarker.api.framework import Device, Framework
from benchmarker.api.optimizer import Optimizer
from benchmarker.graph.graph import Graph
from benchmarker.plugins.cupy import devices
from benchmarker.plugins.cupy.operators import CupyOperators

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.plugins.cupy.program import CupyProgram

    Array = npt.NDArray[Any]

_DTYPES: Mapping[str, type[Any]] = {"fp32": np.float32, "tf32": np.float32, "fp64": np.float64}


class Cupy(Framework):
    """CuPy on a GPU."""

    operators: ClassVar[type[CupyOperators]] = CupyOperators

    def __init__(self) -> None:
        import cupy

        self._version = str(cupy.__version__)
        self._seed = 0

    def version(self) -> str:
        return self._version

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        """Take the GPU; the host's threads have nothing to compute."""
        self._seed = seed
        return devices.start(device)

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
    ) -> CupyProgram:
        from benchmarker.plugins.cupy.program import CupyProgram

        devices.multiply_in(precision)
        update = optimizer if mode == "training" else None
        given = (graph, parameters, _DTYPES[precision], update, self._seed)
        return CupyProgram(CupyOperators, *given, native=True)

    def libraries(self) -> dict[str, str]:
        return devices.libraries()

    def out_of_memory_signs(self) -> Sequence[str]:
        return devices.OUT_OF_MEMORY_SIGNS
