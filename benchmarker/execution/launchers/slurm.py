"""Workers as steps of a Slurm job, by ``srun``; what is said goes through its standard streams."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from benchmarker.api.launcher import Handler, Launcher, Outcome, WorkerCommand
from benchmarker.errors import BenchmarkerError, EnvironmentCreationError, UnsupportedError
from benchmarker.execution.launchers.control_pipe import ControlPipe
from benchmarker.execution.launchers.engine_client import EngineClient, with_reason
from benchmarker.execution.launchers.engine_launcher import EngineLauncher, OpenEngine, through_streams
from benchmarker.execution.launchers.event_loop import BLAME_SECONDS, EventLoop, of_one
from benchmarker.execution.launchers.local import begin
from benchmarker.execution.launchers.rank_link import STREAMS
from benchmarker.execution.launchers.slurm_allocation import Allocation
from benchmarker.execution.launchers.spawned import BOOTSTRAP, Spawned, send_message
from benchmarker.execution.launchers.worker_process import WorkerProcess

FAR_END = Path(__file__).with_name("far_end.py")
KEPT = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "SLURM_CONF", "SLURM_JOB_ID", "SLURMD_NODENAME")
"""Variables that the step gives to the worker, which knows no other one of Slurm's."""
NODE_SECONDS = 30.0
"""How long a job may take to hear that one of several nodes has failed; an MPI notices that at once, and aborts."""
_STEP = ("--overlap", "--mpi=none")
REASONS = (
    re.compile(r"^\S+: error: \*\*\* .* \*\*\*"),  # who ended it, and why
    re.compile(r"^\S+: error: (?!.*: task \d)"),
    re.compile(r"^\S+: error: "),
)


class SlurmLauncher(EngineLauncher):
    """Starts workers as steps of the job that benchmarker runs in: a single one on this node, ranks over all nodes."""

    name = "slurm"
    options = Allocation
    rank_variables = ("SLURM_PROCID",)
    kept = KEPT
    reasons = REASONS

    @property
    def blame_seconds(self) -> float:
        return NODE_SECONDS if _job_nodes() > 1 else BLAME_SECONDS

    def launch(self, command: WorkerCommand, handler: Handler) -> Outcome:
        """Run a worker as a step of the job.

        Raises
        ------
        EnvironmentCreationError
            If there is no ``srun``.
        UnsupportedError
            If benchmarker does not run inside a job.
        ProtocolError
            If the worker does what none does; it has been ended.
        """
        _require_job()
        with contextlib.ExitStack() as cleanup:
            outcome = EventLoop([begin(command, _start, cleanup)], of_one(handler)).run()[0]
        status = outcome.exit_status
        # A far end tells of a signal as shells do.
        if status is not None and status > 128:
            outcome = replace(outcome, exit_status=128 - status)
        return with_reason(outcome, command.log, self.reasons)

    def around(self, options: Allocation, program: Sequence[str]) -> list[str] | None:
        """Return what runs benchmarker in a new job; None inside of one.

        Raises
        ------
        EnvironmentCreationError
            If there is no ``salloc``.
        """
        return None if _in_job() else options.command(program)

    def fault(self) -> str | None:
        """Return what is missing: a job, or the program that starts steps of one."""
        try:
            _require_job()
            _srun()
        except BenchmarkerError as missing:
            return str(missing)
        return None

    def open_engine(
        self, processes: int, log: Path, doing: Sequence[str]
    ) -> AbstractContextManager[OpenEngine]:
        """Start one task a rank in a step, over as many nodes of the job as there are ranks.

        Raises
        ------
        EnvironmentCreationError
            If there is no ``srun``.
        UnsupportedError
            If benchmarker does not run inside a job.
        """
        _require_job()
        nodes = min(processes, _job_nodes())
        place = [f"--nodes={nodes}", f"--ntasks={processes}", "--overcommit", "--cpu-bind=none"]
        # By lines, not unbuffered, so that frames stay whole. Whether others go on when one ends is ours to decide.
        command = [_srun(), *place, *_STEP, "--kill-on-bad-exit=0", *self.rank_end(STREAMS, doing)]
        return through_streams(lambda stdin, stdout: EngineClient(command, stdin, stdout, log), processes)


def _in_job() -> bool:
    return "SLURM_JOB_ID" in os.environ


def _job_nodes() -> int:
    return int(os.environ.get("SLURM_JOB_NUM_NODES", "1"))


def _require_job() -> None:
    if not _in_job():
        raise UnsupportedError(
            "the launcher 'slurm' starts workers inside a job of Slurm; say what to ask for, e.g. --set slurm.nodes=1, "
            "or run benchmarker with salloc or sbatch"
        )


def _srun() -> str:
    program = shutil.which("srun")
    if program is None:
        raise EnvironmentCreationError("'srun' was not found; the launcher 'slurm' needs it on the PATH")
    return program


def _start(
    command: WorkerCommand, events: int, control: int, ours: ControlPipe, cleanup: contextlib.ExitStack
) -> WorkerProcess:
    node = os.environ.get("SLURMD_NODENAME")
    place = [
        "--nodes=1",
        "--ntasks=1",
        "--unbuffered",
        "--kill-on-bad-exit=1",
        *([f"--nodelist={node}"] if node else []),
    ]
    step = [_srun(), *place, *_STEP, sys.executable, "-I", str(FAR_END)]
    spawned_ns = time.monotonic_ns()
    worker = Spawned(EngineClient(step, control, events, command.log))
    cleanup.callback(worker.close)
    request = {
        "host": socket.gethostname(),
        "kept": KEPT,
        "environment": dict(command.environment),
        "arguments": [*command.prefix, command.interpreter, "-s", "-u", str(BOOTSTRAP)],
    }
    ours.write((json.dumps(request) + "\n").encode())
    send_message(ours, command, job=command.job, spawned_ns=spawned_ns)
    return worker


def benchmarker_launcher() -> Launcher:
    return SlurmLauncher()
