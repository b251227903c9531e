"""OpenMP threads that an import has started, around a fork: a process forked beside them waits for ever for their work.

MXNet starts some, of four cores on, as it times its operators.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Mapping
from pathlib import Path

PAUSE_HARD = 2
"""`omp_pause_hard` of OpenMP 5.0: threads end, and are made anew by the next parallel part."""


def end_openmp_threads(process: Path = Path("/proc/self")) -> dict[str, int]:
    """End the threads, and return how many each library had: what `start_openmp_threads` takes."""
    ended: dict[str, int] = {}
    for file in _libraries(process):
        # Not each library so named has the call: then there are no threads of OpenMP's to end.
        with contextlib.suppress(AttributeError, OSError):
            before = _threads(process)
            ctypes.CDLL(file).omp_pause_resource_all(PAUSE_HARD)
            ended[file] = before - _threads(process)
    return {file: threads for file, threads in ended.items() if threads > 0}


def start_openmp_threads(ended: Mapping[str, int]) -> None:
    """Start as many again: how long threads spin for work depends on how many there are in the process (libgomp)."""
    nothing = ctypes.CDLL(None).free
    for file, threads in ended.items():
        ctypes.CDLL(file).GOMP_parallel(nothing, None, threads + 1, 0)


def _libraries(process: Path) -> list[str]:
    with contextlib.suppress(OSError):
        mapped = {line.split()[-1] for line in (process / "maps").read_text().splitlines() if "/" in line}
        return sorted(file for file in mapped if "omp" in Path(file).name)
    return []


def _threads(process: Path) -> int:
    return len(os.listdir(process / "task"))  # noqa: PTH208 - names, as quickly as may be
