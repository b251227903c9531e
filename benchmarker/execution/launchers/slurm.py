"""Workers as steps of a Slurm job, by ``srun``; what is said goes through its standard streams."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from benchmarker.api.launcher import Event, Handler, Launcher, Outcome, WorkerCommand
from benchmarker.errors import EnvironmentCreationError, UnsupportedError
from benchmarker.execution.launchers.control_pipe import ControlPipe
from benchmarker.execution.launchers.event_loop import GRACE_SECONDS, EventLoop
from benchmarker.execution.launchers.guard import Guard
from benchmarker.execution.launchers.local import begin
from benchmarker.execution.launchers.spawned import BOOTSTRAP, GuardedProcess, Spawned, send_message
from benchmarker.execution.launchers.worker_process import WorkerProcess

FAR_END = Path(__file__).with_name("far_end.py")
KEPT = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "SLURM_CONF", "SLURM_JOB_ID", "SLURMD_NODENAME")
"""Variables that the step gives to the worker, which knows no other one of Slurm's."""


class SlurmLauncher(Launcher):
    """Starts each worker as a step of one task on this node of the job that benchmarker runs in."""

    name = "slurm"

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
        if "SLURM_JOB_ID" not in os.environ:
            raise UnsupportedError(
                "the launcher 'slurm' starts workers inside a job of Slurm; run benchmarker with salloc or sbatch"
            )

        def answer(rank: int, event: Event) -> Iterable[tuple[int, str]]:
            reply = handler(event)
            return () if reply is None else ((rank, reply),)

        with contextlib.ExitStack() as cleanup:
            outcome = EventLoop([begin(command, _start, cleanup)], answer).run()[0]
        status = outcome.exit_status
        # A far end tells of a signal as shells do.
        if status is not None and status > 128:
            return Outcome(128 - status, outcome.ended_by, outcome.unreadable_events)
        return outcome


class _Step(GuardedProcess):
    """A client of Slurm with its guard; it is asked to leave, so that it ends its step, before it is killed."""

    def __init__(self, command: WorkerCommand, events: int, control: int) -> None:
        program = shutil.which("srun")
        if program is None:
            raise EnvironmentCreationError("'srun' was not found; the launcher 'slurm' needs it on the PATH")
        # No process between: a shell or a prefix would hide its end.
        place = ["--nodes=1", "--ntasks=1", "--overlap", "--unbuffered", "--kill-on-bad-exit=1", "--mpi=none"]
        node = os.environ.get("SLURMD_NODENAME")
        placed = [f"--nodelist={node}"] if node else []
        with open(command.log, "ab") as log:
            self.process = subprocess.Popen(
                [program, *place, *placed, sys.executable, "-I", str(FAR_END)],
                stdin=control,
                stdout=events,
                stderr=log,
                start_new_session=True,
            )
        self._guard = Guard(self.process.pid)

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE_SECONDS)
        return super().end()


def _start(
    command: WorkerCommand, events: int, control: int, ours: ControlPipe, cleanup: contextlib.ExitStack
) -> WorkerProcess:
    spawned_ns = time.monotonic_ns()
    worker = Spawned(_Step(command, events, control))
    cleanup.callback(worker.close)
    told = {
        "host": socket.gethostname(),
        "kept": KEPT,
        "environment": dict(command.environment),
        "arguments": [*command.prefix, command.interpreter, "-s", "-u", str(BOOTSTRAP)],
    }
    ours.write((json.dumps(told) + "\n").encode())
    send_message(ours, command, job=command.job, spawned_ns=spawned_ns)
    return worker


def benchmarker_launcher() -> Launcher:
    return SlurmLauncher()
