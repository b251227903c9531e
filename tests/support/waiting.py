"""Waiting for what other processes and threads do."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil


def wait_until(holds: Callable[[], object], seconds: float = 60.0) -> bool:
    """Wait for something at most so long, and tell whether it holds."""
    deadline = time.monotonic() + seconds
    while not (found := holds()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(found)


def is_alive(process: int) -> bool:
    """Tell whether a process is there and has not ended."""
    try:
        return bool(psutil.Process(process).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def gone_soon(process: int) -> bool:
    """Tell whether a process ends within a while."""
    return wait_until(lambda: not is_alive(process))
