"""Chainer itself, inside the worker."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.framework import Device, Framework
from benchmarker.api.optimizer import Optimizer
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.chainer.blas import OpenBlas
from benchmarker.plugins.chainer.operators import ChainerOperators
from benchmarker.plugins.chainer.program import DTYPES, ChainerProgram
from benchmarker.plugins.chainer.ranks import Ranks

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.api.world import World

    Array = npt.NDArray[Any]


def _import_chainer() -> Any:
    """Import Chainer without the deprecation warnings about its use of ``distutils`` and ``pkg_resources``."""
    with warnings.catch_warnings():
        for module in ("chainer", "pkg_resources", "distutils", "setuptools"):
            warnings.filterwarnings("ignore", category=DeprecationWarning, module=rf"{module}(\..*)?$")
        import chainer
    return chainer


class ChainerFramework(Framework):
    """Chainer on NumPy (CPU) or CuPy (CUDA)."""

    operators = ChainerOperators

    def __init__(self) -> None:
        self._chainer = _import_chainer()
        self._blas = OpenBlas()
        self._ranks: Ranks | None = None

    def version(self) -> str:
        """Return Chainer's version."""
        return str(self._chainer.__version__)

    def configure(self, device: Device, *, threads: int, seed: int) -> str:
        """Seed the generator of dropout's masks, set the threads of NumPy's BLAS, choose the device."""
        np.random.seed(seed)
        self._blas.set_threads(threads)
        if device.type == "cpu":
            return "cpu"
        cuda = self._chainer.backends.cuda
        if device.type != "cuda" or not cuda.available:
            raise UnsupportedError(
                f"framework 'chainer' needs CuPy and an NVIDIA driver for device '{device.type}', and finds "
                "none here; use --device cpu"
            )
        return self._use_cuda(cuda.cupy, device.index, seed)

    def _use_cuda(self, cupy: Any, index: int, seed: int) -> str:
        count = cupy.cuda.runtime.getDeviceCount()
        if index >= count:
            raise UnsupportedError(f"framework 'chainer' sees {count} CUDA devices, got device {index}")
        self._native_device(Device("cuda", index)).use()
        cupy.random.seed(seed)
        properties = cupy.cuda.runtime.getDeviceProperties(index)
        return str(properties["name"].decode())

    def _native_device(self, device: Device) -> Any:
        name = "@numpy" if device.type == "cpu" else f"@cupy:{device.index}"
        return self._chainer.get_device(name)

    def join(self, world: World, scheme: str) -> None:
        """Find the other ranks, which MPI has started."""
        self._ranks = Ranks()

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
    ) -> ChainerProgram:
        """Bind the operators of ``graph`` and put the parameters on the device."""
        if precision not in DTYPES:
            raise UnsupportedError(
                f"framework 'chainer' computes in {', '.join(DTYPES)}, got precision '{precision}'"
            )
        config = self._chainer.global_config
        config.type_check = options.type_check
        config.autotune = options.autotune
        native = self._native_device(device)
        return ChainerProgram(graph, parameters, mode, native, precision, optimizer, self._ranks)

    def libraries(self) -> dict[str, str]:
        """Return NumPy, its BLAS and the BLAS's threads, and whether iDeep and CuPy are in use."""
        backends = self._chainer.backends
        ideep = backends.intel64.is_ideep_available()
        found = {"numpy": np.__version__, "ideep": "available" if ideep else "not available"}
        description = self._blas.describe()
        if description is not None:
            found["blas"] = description
            found["blas_threads"] = str(self._blas.threads())
        cuda = backends.cuda
        found["cupy"] = str(cuda.cupy.__version__) if cuda.available else "not available"
        if cuda.cudnn_enabled:
            found["cudnn"] = str(cuda.libcudnn.getVersion())
        return found

    def out_of_memory_signs(self) -> Sequence[str]:
        """Return what NumPy's, CuPy's and CUDA's errors say."""
        return ("Unable to allocate", "out of memory to allocate", "cudaErrorMemoryAllocation")
