"""MXNet itself, inside the worker."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device, Framework
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.mxnet import distributed
from benchmarker.plugins.mxnet.lowering import Settings
from benchmarker.plugins.mxnet.operators import MxnetOperators
from benchmarker.plugins.mxnet.program import MxnetProgram

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.api.world import World

    Array = npt.NDArray[Any]


class MxnetFramework(Framework):
    """MXNet 1.x, symbolic."""

    operators = MxnetOperators

    def __init__(self) -> None:
        import mxnet

        self._mx: Any = mxnet
        self._store: distributed.Store | None = None

    def version(self) -> str:
        version: str = self._mx.__version__
        return version

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        # MXNet has no call for the number of threads: it reads OMP_NUM_THREADS when it is loaded.
        self._mx.random.seed(seed)
        context = self._context(device)
        self._mx.nd.zeros((1,), ctx=context).wait_to_read()
        return str(context)

    def _context(self, device: Device) -> Any:
        if device.type == "cpu":
            return self._mx.cpu(device.index)
        count = self._mx.context.num_gpus() if self._mx.runtime.Features().is_enabled("CUDA") else 0
        if device.index >= count:
            raise UnsupportedError(
                f"MXNet sees {count} CUDA devices, so there is no '{device.type}:{device.index}'; "
                "use the device 'cpu', or an MXNet built for the CUDA of this machine"
            )
        return self._mx.gpu(device.index)

    def join(self, world: World, scheme: str) -> None:
        self._store = distributed.Store(world, scheme)

    def leave(self) -> None:
        if self._store is not None:
            self._store.leave()

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
    ) -> Program:
        settings = Settings(
            self._context(device), mode != "inference", precision == "fp16", getattr(options, "fusion", True)
        )
        return MxnetProgram(
            graph,
            parameters,
            settings,
            optimizer if mode == "training" else None,
            self._store if mode == "training" else None,
        )

    def libraries(self) -> dict[str, str]:
        features = self._mx.runtime.Features()
        names = ("MKLDNN", "BLAS_OPEN", "BLAS_MKL", "OPENMP", "CUDA", "CUDNN", "NCCL", "TENSORRT")
        found = {name: "built in, version not reported" for name in names if features.is_enabled(name)}
        if "BLAS_OPEN" in found:
            found["BLAS_OPEN"] = _openblas() or found["BLAS_OPEN"]
        return found

    def out_of_memory_signs(self) -> Sequence[str]:
        return ("out of memory", "Failed to allocate CPU Memory", "CUDNN_STATUS_ALLOC_FAILED")


def _openblas() -> str:
    """Return what the OpenBLAS underneath says of itself, or nothing if it cannot be asked."""
    from mxnet.base import _LIB

    try:
        describe = _LIB.openblas_get_config
    except AttributeError:
        return ""
    describe.restype = ctypes.c_char_p
    return (describe() or b"").decode(errors="replace").strip()
