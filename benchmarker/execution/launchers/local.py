"""Workers as processes of this machine: spawned, or forked by a warm server."""

from __future__ import annotations

import contextlib
import os
import time

from benchmarker.api.launcher import Handler, Launcher, Outcome, WorkerCommand
from benchmarker.execution.launchers.control_pipe import ControlPipe
from benchmarker.execution.launchers.event_loop import EventLoop, WorkerProcess
from benchmarker.execution.launchers.forked import Forked, WarmServers
from benchmarker.execution.launchers.log_watch import LogWatch
from benchmarker.execution.launchers.spawned import GuardedProcess, Spawned, send_message


class LocalLauncher(Launcher):
    """Starts each worker in a session and process group of its own."""

    name = "local"
    starts = ("spawn", "fork")

    def __init__(self) -> None:
        self._servers = WarmServers()

    def launch(self, command: WorkerCommand, handler: Handler) -> Outcome:
        """Run a worker as a process of this machine.

        Raises
        ------
        EnvironmentCreationError
            If the interpreter does not start.
        UnsupportedError
            If the framework cannot be forked.
        ProtocolError
            If the worker does what none does; it has been ended.
        """
        start = self._fork if command.start == "fork" else _spawn
        events_out, events_in = os.pipe()
        control_out, control_in = os.pipe()
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(os.close, events_out)
            cleanup.callback(os.close, control_in)
            control = ControlPipe(control_in)
            try:
                worker = start(command, events_in, control_out, control, cleanup)
            finally:
                os.close(events_in)
                os.close(control_out)
            log = LogWatch(command.log)
            cleanup.callback(log.close)
            return EventLoop(worker, events_out, control, log, handler).run(command.timeout)

    def close(self) -> None:
        """End the warm servers."""
        self._servers.close()

    def _fork(
        self,
        command: WorkerCommand,
        events: int,
        control: int,
        ours: ControlPipe,
        cleanup: contextlib.ExitStack,
    ) -> WorkerProcess:
        def tell(text: str) -> None:
            with open(command.log, "ab") as log:
                log.write(text.encode())

        server = self._servers.obtain(command)
        worker = Forked(server, lambda: _send_job(ours, command, time.monotonic_ns()), tell)
        cleanup.callback(worker.end)
        with open(command.log, "ab") as log:
            server.request(events, control, log.fileno())
        return worker


def _spawn(
    command: WorkerCommand, events: int, control: int, ours: ControlPipe, cleanup: contextlib.ExitStack
) -> WorkerProcess:
    # Taken before the start: the worker's first line may run before ours after it.
    spawned_ns = time.monotonic_ns()
    worker = Spawned(GuardedProcess(command, events, control, (events, control)))
    cleanup.callback(worker.close)
    _send_job(ours, command, spawned_ns)
    return worker


def _send_job(control: ControlPipe, command: WorkerCommand, spawned_ns: int) -> None:
    send_message(control, command, job=command.job, spawned_ns=spawned_ns)


def benchmarker_launcher() -> Launcher:
    return LocalLauncher()
