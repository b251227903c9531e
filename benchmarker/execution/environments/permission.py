"""What is installed only where it is allowed: PyTorch with CUDA, several GiB, for runs on a CPU."""

from __future__ import annotations

import os

OPTION = "--allow-cuda-build"
VARIABLE = "BENCHMARKER_ALLOW_CUDA_BUILD"


def allows_cuda_build() -> bool:
    """Return whether environments for the CPU may hold the CUDA build."""
    return os.environ.get(VARIABLE, "").lower() in ("1", "true", "yes", "on")


def allow_cuda_build() -> None:
    """Allow it for this process and those that it starts."""
    os.environ[VARIABLE] = "1"
