"""A device of JAX's as programs need it: chosen, and its memory."""

from __future__ import annotations

import re
from typing import Any

from benchmarker.api.framework import Device
from benchmarker.errors import UnsupportedError

PRODUCTS = {"fp32": "highest", "tf32": "tensorfloat32"}
"""How a GPU may round the operands of products; left alone XLA takes TF32 there."""


def start(device: Device) -> Any:
    """Have JAX use this type of device alone, before any is used, and return the device.

    Raises
    ------
    UnsupportedError
        If JAX does not see it.
    """
    import jax

    # What calls back into Python, such as a custom operator, needs the CPU beside the GPU.
    jax.config.update("jax_platforms", "cpu" if device.type == "cpu" else "cuda,cpu")
    return place_of(device)


def place_of(device: Device) -> Any:
    """Return a device that JAX was started with."""
    import jax

    try:
        places = jax.local_devices(backend=device.type)
    except RuntimeError as error:
        raise UnsupportedError(
            f"JAX {jax.__version__} has no '{device.type}' device here: {error}"
        ) from error
    if device.index >= len(places):
        raise UnsupportedError(
            f"JAX sees {len(places)} devices of type '{device.type}', so there is no number {device.index}"
        )
    return places[device.index]


def name_of(place: Any) -> str:
    """Return the name of a device."""
    return "cpu" if place.platform == "cpu" else str(place.device_kind)


def platform_of(place: Any) -> dict[str, str]:
    """Return the version of CUDA that a GPU's client tells, in thousands for the major one; nothing of a CPU."""
    found = re.search(r"cuda (\d+)", str(place.client.platform_version))
    return {} if found is None else {"cuda": f"{int(found[1]) // 1000}.{int(found[1]) % 1000 // 10}"}


def memory(place: Any) -> dict[str, int]:
    """Return bytes of the device's allocator; its peak is that of the process, compilation included."""
    known = place.memory_stats() or {}
    names = ("bytes_in_use", "peak_bytes_in_use")
    return {name: int(known[name]) for name in names if name in known}


def single_kernels(platform: str) -> dict[str, str] | None:
    """Return what has XLA launch each kernel by itself on a GPU, so that a profile tells them apart."""
    return None if platform == "cpu" else {"xla_gpu_enable_command_buffer": ""}
