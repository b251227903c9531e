"""Workers that a warm server forks: a process that has imported the framework and runs nothing."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from benchmarker.api.launcher import WorkerCommand
from benchmarker.errors import UnsupportedError
from benchmarker.execution.descriptors import can_be_read
from benchmarker.execution.launchers.event_loop import GRACE_SECONDS
from benchmarker.execution.launchers.guard import Guard
from benchmarker.execution.launchers.leftovers import end_marked, new_mark
from benchmarker.execution.launchers.spawned import GuardedProcess, send_message
from benchmarker.execution.launchers.worker_process import WorkerProcess

KEPT_SERVERS = 12
"""Each holds a framework in memory, and there are ten; the longest unused of more is ended."""


class WarmServer:
    """Our end of a warm server; see :mod:`benchmarker.worker.warm_server` for its own.

    Parameters
    ----------
    command : WorkerCommand
        Interpreter, packages, environment variables, binding and framework are the server's; what it
        prints while it imports the framework goes to this command's log.
    """

    def __init__(self, command: WorkerCommand) -> None:
        self._pending = b""
        with contextlib.ExitStack() as cleanup:
            self._socket, theirs = map(cleanup.enter_context, socket.socketpair())
            # Not over the socket: a plain read of it would lose the descriptors that follow.
            readable, writable = os.pipe()
            cleanup.callback(os.close, readable)
            with os.fdopen(writable, "wb", buffering=0) as control:
                descriptors = (theirs.fileno(), readable)
                self._interpreter = GuardedProcess(command, *descriptors, descriptors)
                send_message(control, command, serve=command.job["framework"])
            cleanup.pop_all()
            theirs.close()
            os.close(readable)

    def fileno(self) -> int:
        """Return the descriptor that the server's replies arrive on."""
        return self._socket.fileno()

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._interpreter.process.poll() is None

    def request(self, events: int, control: int, log: int) -> None:
        """Ask for a worker with these descriptors."""
        # A server that has just ended tells that by the end of its replies.
        with contextlib.suppress(OSError):
            socket.send_fds(self._socket, [b"\n"], [events, control, log])

    def replies(self) -> list[dict[str, Any]] | None:
        """Return what has arrived; None if the server is gone."""
        try:
            data = self._socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        *lines, self._pending = (self._pending + data).split(b"\n")
        return [json.loads(line) for line in lines] if data else None

    def send_signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._interpreter.process.send_signal(number)

    def end(self) -> int:
        """End the server, and with it its worker, and return its exit status."""
        return self._interpreter.end()

    def close(self) -> None:
        """End the server and give back its descriptor."""
        self.end()
        self._socket.close()


class Forked(WorkerProcess):
    """A worker that a warm server forks; the server waits for it and tells its exit status.

    Parameters
    ----------
    server : WarmServer
        One that was asked for this worker.
    go : callable
        Called with the worker's mark once the worker is there.
    tell : callable
        Takes a line for the run's log.
    """

    def __init__(self, server: WarmServer, go: Callable[[str], None], tell: Callable[[str], None]) -> None:
        self._server = server
        self._go = go
        self._tell = tell
        self._mark = new_mark()
        self._process: int | None = None
        self._status: int | None = None
        self._guard: Guard | None = None

    @property
    def notice(self) -> int:
        return self._server.fileno()

    def has_ended(self) -> bool:
        replies = self._server.replies()
        if replies is None:
            status = self._lose_server()
            how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
            self._tell(f"benchmarker: the warm server of this run was ended by {how}\n")
        for reply in replies or ():
            self._take(reply)
        return self._status is not None

    def _take(self, reply: dict[str, Any]) -> None:
        if "refused" in reply:
            self._status = 1
            raise UnsupportedError(reply["refused"])
        if "started" in reply:
            process = self._process = reply["started"]
            self._guard = Guard(process, self._mark)
            self._go(self._mark)
        if "ended" in reply:
            self._status = reply["ended"]

    def _lose_server(self) -> int:
        """End what is left of the worker: the kernel has killed it with its server, not what it started."""
        status = self._server.end()
        self._kill()
        self._status = status if self._process is None else -signal.SIGKILL
        return status

    def wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self._status is None:
            left = max(0.0, deadline - time.monotonic())
            if not can_be_read(self._server, left):
                return
            self.has_ended()

    def send_signal(self, number: signal.Signals) -> None:
        if self._process is None:
            self._server.send_signal(number)
        elif self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process, number)

    def end(self) -> int:
        if self._status is None:
            self._kill()
            if self._process is not None:
                self.wait(GRACE_SECONDS)
        if self._status is None:
            # It is still importing, or does not answer.
            self._lose_server()
        end_marked(self._mark)
        if self._guard is not None:
            self._guard.dismiss()
        return self._status if self._status is not None else -signal.SIGKILL

    def _kill(self) -> None:
        if self._process is None:
            return
        # Until it has made its own group there is only the process.
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self._process, signal.SIGKILL)


class WarmServers:
    """The servers that are kept, by what they were started with."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, WarmServer] = OrderedDict()

    def obtain(self, command: WorkerCommand) -> WarmServer:
        """Return the server for a command; start one if there is none, or it has ended."""
        key = _key(command)
        server = self._kept.pop(key, None)
        if server is not None and not server.is_alive:
            server.close()
            server = None
        if server is None:
            while len(self._kept) >= KEPT_SERVERS:
                self._kept.popitem(last=False)[1].close()
            server = WarmServer(command)
        self._kept[key] = server
        return server

    def close(self) -> None:
        while self._kept:
            self._kept.popitem()[1].close()


def _key(command: WorkerCommand) -> str:
    packages, variables = sorted(command.packages.items()), sorted(command.environment.items())
    what = [command.interpreter, command.job["framework"], packages, variables, list(command.affinity)]
    return json.dumps([*what, os.getcwd()])  # noqa: PTH109 - the folder that a new process would start in
