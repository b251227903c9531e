"""Workers as processes of this machine: spawned, or forked by a warm server."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Collection, Sequence

from benchmarker.api.launcher import GroupHandler, Handler, Launcher, Outcome, WorkerCommand
from benchmarker.errors import UnsupportedError
from benchmarker.execution.launchers.control_pipe import ControlPipe
from benchmarker.execution.launchers.conversation import Conversation
from benchmarker.execution.launchers.event_loop import EventLoop, of_one
from benchmarker.execution.launchers.forked import Forked, WarmServers
from benchmarker.execution.launchers.log_watch import LogWatch
from benchmarker.execution.launchers.spawned import GuardedProcess, Spawned, send_message
from benchmarker.execution.launchers.streamed import EnclosedClient, send_start
from benchmarker.execution.launchers.worker_process import WorkerProcess

_Start = Callable[[WorkerCommand, int, int, ControlPipe, contextlib.ExitStack], WorkerProcess]


class LocalLauncher(Launcher):
    """Starts each worker in a session and process group of its own."""

    name = "local"
    starts = ("spawn", "fork")
    encloses = True

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
        with contextlib.ExitStack() as cleanup:
            return EventLoop([begin(command, start, cleanup)], of_one(handler)).run()[0]

    def launch_group(
        self,
        commands: Sequence[WorkerCommand],
        handler: GroupHandler,
        *,
        silence: float | None = None,
        answered: Collection[str] = (),
    ) -> list[Outcome]:
        """Run workers as processes of this machine.

        Raises
        ------
        EnvironmentCreationError
            If an interpreter does not start.
        UnsupportedError
            If one is to be forked.
        ProtocolError
            If a worker does what none does, with its ``rank``; all have been ended.
        """
        if any(command.start == "fork" for command in commands):
            raise UnsupportedError(
                "a warm server forks single workers, no groups of ranks; use --start=spawn"
            )
        with contextlib.ExitStack() as cleanup:
            ranks = [begin(command, _spawn, cleanup) for command in commands]
            return EventLoop(ranks, handler, silence, answered).run()

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

        def go(mark: str) -> None:
            send_message(ours, command, job=command.job, spawned_ns=time.monotonic_ns(), mark=mark)

        server = self._servers.obtain(command)
        worker = Forked(server, go, tell)
        cleanup.callback(worker.end)
        with open(command.log, "ab") as log:
            server.request(events, control, log.fileno())
        return worker


def begin(command: WorkerCommand, start: _Start, cleanup: contextlib.ExitStack) -> Conversation:
    """Start a worker with its pipes; the cleanup ends it and gives them back."""
    events_out, events_in = os.pipe()
    cleanup.callback(os.close, events_out)
    control_out, control_in = os.pipe()
    cleanup.callback(os.close, control_in)
    control = ControlPipe(control_in)
    try:
        worker = start(command, events_in, control_out, control, cleanup)
    finally:
        os.close(events_in)
        os.close(control_out)
    log = LogWatch(command.log)
    cleanup.callback(log.close)
    return Conversation(worker, events_out, control, log, command.timeout)


def _spawn(
    command: WorkerCommand, events: int, control: int, ours: ControlPipe, cleanup: contextlib.ExitStack
) -> WorkerProcess:
    # Taken before the start: the worker's first line may run before ours after it.
    spawned_ns = time.monotonic_ns()
    by_streams = command.enclosure is not None and not command.enclosure.passes_descriptors
    process = (
        EnclosedClient(command, events, control)
        if by_streams
        else GuardedProcess(command, events, control, (events, control))
    )
    worker = Spawned(process)
    cleanup.callback(worker.close)
    if by_streams:
        send_start(ours, command, spawned_ns)
    else:
        send_message(ours, command, job=command.job, spawned_ns=spawned_ns)
    return worker


def benchmarker_launcher() -> Launcher:
    return LocalLauncher()
