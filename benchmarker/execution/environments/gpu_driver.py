"""Whether NVIDIA's driver is here and for how many GPUs; nothing is loaded or run to find out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path("/")
_SIGNS = ("proc/driver/nvidia/version", "dev/nvidiactl", "usr/lib/wsl/lib/libcuda.so.1")


def nvidia_driver_present(root: Path = ROOT) -> bool:
    """Return whether this machine has an NVIDIA driver."""
    if sys.platform == "win32":
        folder = os.environ.get("SYSTEMROOT", "C:\\Windows")
        return Path(folder, "System32", "nvcuda.dll").exists()
    if any((root / sign).exists() for sign in _SIGNS):
        return True
    # As shutil has it, whose import takes with it the compression that its archives need.
    return any(os.access(Path(folder, "nvidia-smi"), os.X_OK) for folder in os.get_exec_path())


def driver_fault(device: str) -> str | None:
    """Return a sentence if this machine lacks the driver that a type of device needs."""
    if device != "cuda" or nvidia_driver_present():
        return None
    return "device cuda was asked for, but no NVIDIA driver is loaded here; use --device=cpu"


def gpu_count(root: Path = ROOT) -> int | None:
    """Return for how many GPUs the driver is loaded, None where it does not tell; a container may see fewer."""
    try:
        return len(list((root / "proc/driver/nvidia/gpus").iterdir())) or None
    except OSError:
        return None
