"""The Python of an environment for several ranks."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

from benchmarker import registry
from benchmarker.execution.environments import resolve
from tests.conftest import CACHE_HOME, ROOT


@cache
def mpi_interpreter(framework: str = "numpy") -> Path:
    """Return a Python that holds a framework, mpi4py and MPICH; its environment is made once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHMARKER_HOME", str(CACHE_HOME))
        found = resolve(registry.framework(framework), choice="managed", ranks=True, progress=print)
    return Path(found.path)


def run_world(processes: int, module: str, *arguments: str) -> None:
    """Run a module of ours in so many processes of one MPI world, which MPICH's own ``mpiexec`` starts."""
    python = mpi_interpreter()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    started = [
        str(python.with_name("mpiexec")),
        "-n",
        str(processes),
        str(python),
        "-s",
        "-m",
        "mpi4py",
        "-m",
        module,
    ]
    done = subprocess.run(
        [*started, *arguments], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:] + done.stdout[-1000:]
