"""Asking Slurm for a job in which benchmarker itself runs, by ``salloc``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from benchmarker.errors import EnvironmentCreationError
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Allocation:
    """What is asked of Slurm outside of a job, in ``salloc``'s own words; an empty text is left to Slurm.

    Parameters
    ----------
    nodes, cpus : int
        How many nodes, and processors on each; with 0 processors as many as Slurm gives.
    time : str
        Limit of the job: minutes, or e.g. ``1:30:00``.
    partition, account, qos, constraint, reservation, gres : str
        As the options of these names.
    exclusive : bool
        No other job on the nodes.
    """

    nodes: int = 1
    cpus: int = 0
    time: str = ""
    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    reservation: str = ""
    gres: str = ""
    exclusive: bool = False

    def command(self, program: Sequence[str]) -> list[str]:
        """Return what runs a program as a step of its own, on the first node of a new job that ends with it.

        Raises
        ------
        EnvironmentCreationError
            If there is no ``salloc``.
        """
        salloc = shutil.which("salloc")
        if salloc is None:
            raise EnvironmentCreationError(
                "'salloc' was not found; the launcher 'slurm' needs it on the PATH"
            )
        named = ("time", "partition", "account", "qos", "constraint", "reservation", "gres")
        options = [f"--{name}={value}" for name in named if (value := getattr(self, name))]
        size = [f"--nodes={self.nodes}", *([f"--mincpus={self.cpus}"] if self.cpus else [])]
        alone = ["--exclusive"] if self.exclusive else []
        step = ["srun", "--nodes=1", "--ntasks=1", "--overlap", "--cpu-bind=none", "--mpi=none", "--quiet"]
        terminal = ["--pty"] if sys.stdout.isatty() and sys.stdin.isatty() else []
        return [salloc, "--quiet", *size, *options, *alone, *step, *terminal, *program]
