"""NVIDIA's management library (NVML), held open; what it does not tell is ``None``."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Collection
from typing import Any

from benchmarker.api.collector import Unavailable


def library_exists() -> bool:
    """Tell whether NVML can be loaded; finding out here spares machines without it an import."""
    if sys.platform == "darwin":
        return False
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return False
    return True


class Session:
    """NVML between its initialisation and its shutdown.

    Parameters
    ----------
    nvml : module
        ``pynvml`` of the distribution nvidia-ml-py.

    Attributes
    ----------
    devices : list
        NVML's handle of each GPU, ``None`` for one that it does not give.

    Raises
    ------
    Unavailable
        If NVML cannot be initialized or finds no GPU.
    """

    def __init__(self, nvml: Any) -> None:
        self.nvml = nvml
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            raise Unavailable(f"NVML cannot be initialized: {error}", readings=[]) from error
        try:
            count = nvml.nvmlDeviceGetCount()
            if count == 0:
                raise Unavailable("the NVIDIA driver finds no GPU", readings=[])
            self.devices = [self.ask(nvml.nvmlDeviceGetHandleByIndex, index) for index in range(count)]
        except BaseException:
            self.close()
            raise

    def ask(self, question: Callable[..., Any], *arguments: Any) -> Any:
        """Return NVML's answer, ``None`` where it has none: not supported, not permitted, or too old."""
        try:
            answer = question(*arguments)
        except self.nvml.NVMLError:
            return None
        # Older releases of pynvml return bytes.
        return answer.decode("utf-8", errors="replace") if isinstance(answer, bytes) else answer

    def used_by(self, pids: Collection[int]) -> list[int]:
        """Return the indices of the GPUs on which any of the processes computes; all if that does not show.

        It does not in a container, where NVML tells the host's process identifiers.
        """
        running = self.nvml.nvmlDeviceGetComputeRunningProcesses
        by_device = [self.ask(running, device) or () for device in self.devices]
        used = [i for i, found in enumerate(by_device) if any(process.pid in pids for process in found)]
        return used or list(range(len(self.devices)))

    def close(self) -> None:
        """Shut NVML down."""
        self.ask(self.nvml.nvmlShutdown)


def open_session() -> Session:
    """Return a session of the real library.

    Raises
    ------
    Unavailable
        If there is none, or no GPU.
    """
    if not library_exists():
        raise Unavailable("no NVIDIA driver: its management library NVML is not installed", readings=[])
    import pynvml

    return Session(pynvml)
