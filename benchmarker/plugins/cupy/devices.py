"""A GPU as CuPy's programs need it: chosen, waited for, its memory and its clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device
from benchmarker.errors import UnsupportedError

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

OUT_OF_MEMORY_SIGNS = ("cudaErrorMemoryAllocation", "OutOfMemoryError", "Out of memory allocating")


def start(device: Device) -> str:
    """Make a GPU the one that is used, and return its name.

    Raises
    ------
    UnsupportedError
        If CuPy does not see it.
    """
    import cupy

    if device.type != "cuda":
        raise UnsupportedError(f"framework 'cupy' runs on cuda only, got device '{device.type}'")
    runtime = cupy.cuda.runtime
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        raise UnsupportedError(f"CuPy {cupy.__version__} has no CUDA device here: {error}") from error
    if device.index >= count:
        raise UnsupportedError(
            f"CuPy {cupy.__version__} sees {count} CUDA devices, so there is no 'cuda:{device.index}'"
        )
    cupy.cuda.Device(device.index).use()
    wait()
    name = runtime.getDeviceProperties(device.index)["name"]
    return name.decode() if isinstance(name, bytes) else str(name)


def multiply_in(precision: str) -> None:
    """Have products of float32 matrices rounded as the precision says, whatever ``CUPY_TF32`` asks for."""
    import numpy as np
    from cupy._core import _routines_linalg as products

    kind = products.COMPUTE_TYPE_TF32 if precision == "tf32" else products.COMPUTE_TYPE_DEFAULT
    products.set_compute_type(np.dtype(np.float32), kind)


def libraries() -> dict[str, str]:
    """Return the version of CUDA's runtime that CuPy calls."""
    import cupy

    version = int(cupy.cuda.runtime.runtimeGetVersion())
    return {"cuda": f"{version // 1000}.{version % 1000 // 10}"}


def wait() -> None:
    """Return when the device has done all that it was asked for."""
    import cupy

    cupy.cuda.get_current_stream().synchronize()


def put(array: Array) -> Any:
    """Return a copy on the device."""
    import cupy

    return cupy.asarray(array)


def take(array: Any) -> Array:
    """Return a contiguous copy on the host."""
    import cupy

    found: Array = cupy.asnumpy(array, order="C")
    return found


def memory() -> dict[str, int]:
    """Return bytes of CuPy's pool: of arrays, and of all that it holds, which only grows and so is the peak."""
    import cupy

    pool = cupy.get_default_memory_pool()
    return {"allocated_bytes": int(pool.used_bytes()), "peak_reserved_bytes": int(pool.total_bytes())}


def release_memory() -> None:
    """Have the pool give back what no array needs."""
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()


def event() -> Any:
    """Return an event in the device's queue."""
    import cupy

    found = cupy.cuda.Event()
    found.record()
    return found


def seconds_between(first: Any, last: Any) -> float:
    """Return the device's seconds from one event to another; both must have been reached."""
    import cupy

    return float(cupy.cuda.get_elapsed_time(first, last)) / 1e3
