"""NumPy once more, as a framework that tells what its process sees: modules, paths, CPUs, threads."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarker.api import FrameworkPlugin
from benchmarker.plugins.numpy.framework import NumpyFramework

LOOKED_FOR = ("benchmarker", "leaked", "msgspec", "numpy", "pluggy", "psutil", "uv")


def benchmarker_framework() -> FrameworkPlugin:
    return FrameworkPlugin(
        name="mirror",
        distribution="numpy",
        requirements=("numpy",),
        implementation="mirror_framework:Mirror",
        thread_variables=("MIRROR_THREADS",),
        recorded_variables=("MIRROR_MODE",),
        precisions={"cpu": ("fp32", "fp64")},
    )


class OldestPython:
    """The oldest Python that a worker runs on, with a NumPy of before 2.0."""

    def benchmarker_framework(self) -> FrameworkPlugin:
        return replace(
            benchmarker_framework(), name="mirror_old", python=">=3.9,<3.10", requirements=("numpy==1.23.5",)
        )


class NewestPython:
    """A newer Python than the two that most run, with the newest NumPy it can have."""

    def benchmarker_framework(self) -> FrameworkPlugin:
        return replace(
            benchmarker_framework(), name="mirror_new", python=">=3.13", requirements=("numpy>=2.1",)
        )


def origin(name: str) -> str | None:
    found = importlib.util.find_spec(name)
    return None if found is None else found.origin


def loaded_files() -> dict[str, str]:
    modules = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    return {name: file for name, file in modules.items() if file}


def cpu_seconds_per_second() -> float:
    import numpy as np

    matrix = np.ones((900, 900), np.float32)
    matrix @ matrix
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(20):
        matrix @ matrix
    return (time.process_time() - cpu) / (time.perf_counter() - wall)


class Mirror(NumpyFramework):
    def libraries(self) -> dict[str, str]:
        facts: dict[str, Any] = {
            "path": sys.path,
            "files": loaded_files(),
            "origins": {name: origin(name) for name in LOOKED_FOR},
            "prefix": sys.prefix,
            "standard_library": str(Path(os.__file__).parent),
            "flags": {"no_user_site": sys.flags.no_user_site, "optimize": sys.flags.optimize},
            "leaked": sorted(name for name in os.environ if name.startswith("PYTHON")),
            "process": os.getpid(),
            "affinity": sorted(os.sched_getaffinity(0)),
            "cpu_seconds_per_second": cpu_seconds_per_second(),
            "threads": len(list(Path("/proc/self/task").iterdir())),
        }
        return {**super().libraries(), **{name: json.dumps(value) for name, value in facts.items()}}
