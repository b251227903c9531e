"""A stand-in for CuPy where there is no GPU: its namespace and its refusals, over NumPy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from cupy import arrays, random
from cupy.arrays import asarray, asnumpy, ndarray

__all__ = ["asarray", "asnumpy", "cuda", "get_default_memory_pool", "ndarray", "random"]
__version__ = "14.2.0"


class _Error(RuntimeError):
    """As ``cupy.cuda.runtime.CUDARuntimeError``."""


class _Event:
    def record(self) -> None:
        import time

        self.seconds = time.perf_counter()


class _Device:
    def __init__(self, index: Any) -> None:
        self.index = index

    def use(self) -> None:
        """Be the one that is used."""


cuda = SimpleNamespace(
    Device=_Device,
    Event=_Event,
    get_elapsed_time=lambda first, last: (last.seconds - first.seconds) * 1e3,
    get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None),
    runtime=SimpleNamespace(
        CUDARuntimeError=_Error,
        getDeviceCount=lambda: 1,
        getDeviceProperties=lambda index: {"name": b"stand-in for a GPU"},
        runtimeGetVersion=lambda: 13000,
    ),
)


def get_default_memory_pool() -> Any:
    return SimpleNamespace(used_bytes=lambda: 1024, total_bytes=lambda: 2048, free_all_blocks=lambda: None)


def __getattr__(name: Any) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return arrays.function(name)


def ix_(*operands: Any) -> Any:
    return arrays.given(np.ix_(*(operand._host for operand in operands)))
