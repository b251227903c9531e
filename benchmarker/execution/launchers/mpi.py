"""Workers that an MPI starts, by its ``mpirun`` or ``mpiexec``: Open MPI's, or MPICH's."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path

from benchmarker.api.launcher import Launcher
from benchmarker.errors import BenchmarkerError, EnvironmentCreationError, UnsupportedError
from benchmarker.execution.launchers.connections import through_connections
from benchmarker.execution.launchers.engine_client import EngineClient
from benchmarker.execution.launchers.engine_launcher import EngineLauncher, OpenEngine

PROGRAMS = ("mpirun", "mpiexec")
ADDRESS = "BENCHMARKER_ADDRESS"
"""The variable with the address that ranks on other machines reach this one by."""
VERSION_SECONDS = 60.0
_OPEN_MPI = ("--oversubscribe", "--bind-to", "none")
_MPICH = ("-bind-to", "none")
_AS_ROOT = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")


class MpiLauncher(EngineLauncher):
    """Starts workers by the ``mpirun`` that is first on the path, where that places them."""

    name = "mpi"
    # An Open MPI inside a step of Slurm has Slurm's variables too, so that its own come first.
    rank_variables = ("OMPI_COMM_WORLD_RANK", "PMI_RANK")
    kept = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
    reasons = (
        re.compile(r"(not enough slots|exited on signal|could not (find|be found|execute)|noticed that)"),
        re.compile(r"(EXIT CODE|BAD TERMINATION|KILLED BY SIGNAL|unable to|error)", re.IGNORECASE),
    )

    def fault(self) -> str | None:
        """Return what is missing: an MPI that is known."""
        try:
            is_open_mpi(_program())
        except BenchmarkerError as missing:
            return str(missing)
        return None

    def open_engine(
        self, processes: int, log: Path, doing: Sequence[str]
    ) -> AbstractContextManager[OpenEngine]:
        """Start the ranks, which connect to this process.

        Raises
        ------
        EnvironmentCreationError
            If there is no MPI, or it is none of those that are known.
        """
        program = _program()
        options = _OPEN_MPI if is_open_mpi(program) else _MPICH
        root = dict.fromkeys(_AS_ROOT, "1") if os.geteuid() == 0 else {}

        def start(where: str, variables: Mapping[str, str]) -> EngineClient:
            command = [program, *options, "-n", str(processes), *self.rank_end(where, doing)]
            return EngineClient(
                command, subprocess.DEVNULL, subprocess.DEVNULL, log, {**os.environ, **root, **variables}
            )

        return through_connections(start, processes, os.environ.get(ADDRESS))


def _program() -> str:
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        raise EnvironmentCreationError(
            "neither 'mpirun' nor 'mpiexec' was found; the launcher 'mpi' needs one of Open MPI or MPICH on the PATH"
        )
    return found


@cache
def is_open_mpi(program: str) -> bool:
    """Return whether a program is Open MPI's rather than MPICH's.

    Raises
    ------
    UnsupportedError
        If it is neither's.
    """
    try:
        completed = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=VERSION_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentCreationError(f"'{program} --version' could not be run: {error}") from error
    said = completed.stdout + completed.stderr
    if "Open MPI" in said or "OpenRTE" in said:
        return True
    if "HYDRA" in said or "MPICH" in said:
        return False
    first = (said.strip().splitlines() or ["nothing"])[0]
    raise UnsupportedError(
        f"the launcher 'mpi' knows mpirun and mpiexec of Open MPI and MPICH; '{program} --version' says: {first}"
    )


def benchmarker_launcher() -> Launcher:
    return MpiLauncher()
