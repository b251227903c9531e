"""NumPy as a framework like any other, and as the reference of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from benchmarker.api.framework import Device, Framework
from benchmarker.api.optimizer import Optimizer
from benchmarker.errors import UnsupportedError
from benchmarker.graph.custom import custom_kinds, registered
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.custom.arrays import array_kernel
from benchmarker.plugins.numpy.operators import MeasuredOperators, NumpyOperators
from benchmarker.plugins.numpy.program import NumpyProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


_DTYPES: Mapping[str, type[Any]] = {"fp32": np.float32, "fp64": np.float64}


class NumpyFramework(Framework):
    """NumPy on the CPU; the number of threads is its BLAS's, set by the environment before the start."""

    operators: ClassVar[type[NumpyOperators]] = NumpyOperators
    updates_natively: ClassVar[bool] = False
    """Whether optimizers are as quick as NumPy has them, else their rules themselves: the reference."""

    def __init__(self) -> None:
        self._seed = 0

    def version(self) -> str:
        """Return NumPy's version."""
        return np.__version__

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        """Keep the seed of dropout's masks; NumPy has no call of its own for the number of threads."""
        if device.type != "cpu":
            raise UnsupportedError(f"framework 'numpy' runs on the cpu only, got device '{device.type}'")
        self._seed = seed
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
    ) -> NumpyProgram:
        """Copy the parameters and resolve the steps of ``graph``."""
        if precision not in _DTYPES:
            raise UnsupportedError(
                f"framework 'numpy' computes in {' or '.join(_DTYPES)}, got precision '{precision}'"
            )
        for name in custom_kinds(graph.nodes, self.operators.framework):
            array_kernel(registered(name), self.operators.framework)  # compiled here, not in the first step
        update = optimizer if mode == "training" else None
        given = (graph, parameters, _DTYPES[precision], update, self._seed)
        return NumpyProgram(self.operators, *given, native=self.updates_natively)

    def libraries(self) -> dict[str, str]:
        """Return the BLAS that NumPy was built with and its version."""
        return {"blas": _blas()}


class MeasuredNumpyFramework(NumpyFramework):
    """NumPy as a framework to measure: users' operators run as they are implemented for it."""

    operators = MeasuredOperators
    updates_natively = True


def _blas() -> str:
    try:
        config: Any = np.show_config(mode="dicts")  # NumPy 1.26 and newer
    except TypeError:
        known = ("openblas64__info", "openblas_info", "blas_mkl_info", "blas_opt_info")
        old = (getattr(np.__config__, name, None) for name in known)
        libraries: list[str] = next((info["libraries"] for info in old if info), ["unknown"])
        return libraries[0]
    blas = config["Build Dependencies"]["blas"]
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()
