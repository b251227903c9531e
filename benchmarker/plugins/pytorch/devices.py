"""A device of PyTorch's as programs need it: chosen, waited for, its memory and its clock."""

from __future__ import annotations

from typing import Any

from benchmarker.api.framework import Device
from benchmarker.errors import UnsupportedError

OUT_OF_MEMORY_SIGNS = ("DefaultCPUAllocator: can't allocate memory", "CUDA out of memory", "OutOfMemoryError")


def start(device: Device) -> str:
    """Make a device the one that is used, and return its name.

    Raises
    ------
    UnsupportedError
        If PyTorch does not see it.
    """
    import torch

    if device.type == "cpu":
        return "cpu"
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device.index >= count:
        raise UnsupportedError(
            f"PyTorch {torch.__version__} sees {count} CUDA devices, so there is no 'cuda:{device.index}'; "
            "use the device 'cpu', or a PyTorch built for the CUDA of this machine"
        )
    torch.cuda.set_device(device.index)
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    return str(torch.cuda.get_device_name(device.index))


def allow_tf32(allowed: bool) -> None:
    """Allow TF32 or forbid it, in matrix products and in convolutions."""
    import torch

    torch.set_float32_matmul_precision("high" if allowed else "highest")
    torch.backends.cudnn.allow_tf32 = allowed


def libraries() -> dict[str, str]:
    """Return the versions of CUDA and what belongs to it."""
    import torch

    found = {"cuda": torch.version.cuda} if torch.version.cuda else {}
    if torch.cuda.is_available():
        found["cudnn"] = str(torch.backends.cudnn.version())
        found["nccl"] = ".".join(str(part) for part in torch.cuda.nccl.version())
    return found


class NativeDevice:
    """Where a program runs; of a processor there is nothing to wait for and nothing to read.

    Parameters
    ----------
    device : Device
        As given to :meth:`Framework.build`.
    """

    def __init__(self, device: Device) -> None:
        self.type = device.type
        self._cuda: Any = None
        self._index = device.index
        if device.type == "cuda":
            import torch

            self._cuda = torch.cuda

    def wait(self) -> None:
        """Return when the device has done all that it was asked for."""
        if self._cuda is not None:
            self._cuda.synchronize(self._index)

    def memory(self) -> dict[str, int]:
        """Return bytes of PyTorch's allocator."""
        if self._cuda is None:
            return {}
        return {
            "allocated_bytes": self._cuda.memory_allocated(self._index),
            "peak_allocated_bytes": self._cuda.max_memory_allocated(self._index),
            "peak_reserved_bytes": self._cuda.max_memory_reserved(self._index),
        }

    def reset_memory(self) -> None:
        """Have the peaks begin anew."""
        if self._cuda is not None:
            self._cuda.reset_peak_memory_stats(self._index)

    def event(self) -> Any:
        """Return an event in the device's queue, None without one."""
        if self._cuda is None:
            return None
        event = self._cuda.Event(enable_timing=True)
        event.record()
        return event


def seconds_between(first: Any, last: Any) -> float:
    """Return the device's seconds from one event to another; both must have been reached."""
    return float(first.elapsed_time(last)) / 1e3
