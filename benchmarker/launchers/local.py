"""Workers as processes of this machine: spawned, or forked by a warm server."""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import Any

from benchmarker.launchers import Handler, Launcher, Outcome, WorkerCommand
from benchmarker.launchers.conversation import Conversation, WorkerProcess
from benchmarker.launchers.spawned import Interpreter, Spawned
from benchmarker.launchers.warm import Forked, WarmServers


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
        """
        start = self._fork if command.start == "fork" else _spawn
        events_out, events_in = os.pipe()
        control_out, control_in = os.pipe()
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(os.close, events_out)
            control = cleanup.enter_context(os.fdopen(control_in, "wb", buffering=0))
            try:
                worker = start(command, events_in, control_out, control, cleanup)
            finally:
                os.close(events_in)
                os.close(control_out)
            return Conversation(worker, events_out, control, handler).follow(command.timeout)

    def close(self) -> None:
        """End the warm servers."""
        self._servers.close()

    def _fork(
        self,
        command: WorkerCommand,
        events: int,
        control: int,
        ours: Any,
        cleanup: contextlib.ExitStack,
    ) -> WorkerProcess:
        def tell(text: str) -> None:
            with open(command.log, "ab") as log:
                log.write(text.encode())

        server = self._servers.obtain(command)
        worker = Forked(server, lambda: _send(ours, _message(command, time.monotonic_ns())), tell)
        cleanup.callback(worker.end)
        with open(command.log, "ab") as log:
            server.request(events, control, log.fileno())
        return worker


def _spawn(
    command: WorkerCommand, events: int, control: int, ours: Any, cleanup: contextlib.ExitStack
) -> WorkerProcess:
    # Taken before the start: the worker's first line may run before ours after it.
    message = _message(command, time.monotonic_ns())
    worker = Spawned(Interpreter(command, events, control, (events, control)))
    cleanup.callback(worker.close)
    _send(ours, message)
    return worker


def _message(command: WorkerCommand, spawned_ns: int) -> bytes:
    message = {
        "job": command.job,
        "packages": dict(command.packages),
        "affinity": list(command.affinity),
        "spawned_ns": spawned_ns,
    }
    return (json.dumps(message) + "\n").encode()


def _send(control: Any, message: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):
        control.write(message)


def benchmarker_launcher() -> Launcher:
    """Return the launcher."""
    return LocalLauncher()
