"""Workers that are forks of interpreters which have imported a framework, for tests of what workers do after that.

To import PyTorch or TensorFlow takes most of a short run's processor time. The marker ``warm`` has the workers of
managed environments start this way; from the bootstrap on they are as any worker. One interpreter serves all workers
of this session whose framework, packages and variables are the same.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarker.api.launcher import WorkerCommand
from benchmarker.execution.launchers import spawned
from benchmarker.execution.launchers.leftovers import VARIABLE, marked

PROGRAM = Path(__file__).resolve().parents[1] / "in_framework" / "warm_interpreter.py"
OF_ONE_RUN = {VARIABLE, "BENCHMARKER_TEST_FOLDER", "PYTHONHASHSEED"}
"""Variables that differ between runs and that no import reads."""


class ForkedProcess:
    """What :class:`subprocess.Popen` tells of a child, of one that a warm interpreter has forked.

    Parameters
    ----------
    connection : socket
        Over which it was asked for.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._lock = connection, threading.Lock()
        told = connection.recv(64)
        if not told:
            raise RuntimeError("a warm interpreter has ended")
        self.pid = int(told)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return how it ended, or None while it runs."""
        with self._lock:
            if self.returncode is None and select.select([self._connection], [], [], 0)[0]:
                told = self._connection.recv(64)
                self.returncode = int(told) if told else -signal.SIGKILL
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return how it ended, once it has.

        Raises
        ------
        subprocess.TimeoutExpired
            If it has not after so many seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            left = 1.0 if deadline is None else min(1.0, deadline - time.monotonic())
            if left <= 0:
                raise subprocess.TimeoutExpired(str(PROGRAM), timeout or 0.0)
            select.select([self._connection], [], [], left)
        return status

    def send_signal(self, number: int) -> None:
        """Send it a signal if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)


def use_warm_interpreters(folder: Path) -> None:
    """Have this process start workers of managed environments so."""
    usual = spawned._start
    spawned._start = _warm_start(usual, folder)


def _warm_start(usual: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    def start(command: WorkerCommand, mark: str, events: int, control: int, kept: Sequence[int]) -> Any:
        framework = command.job.get("framework")
        network = _network(command.prefix)
        managed = "/environments/" in command.interpreter and command.enclosure is None
        if not framework or not managed or network is None:
            return usual(command, mark, events, control, kept)
        connection = _connect(command, str(framework), folder)
        numbers = sorted({events, control, *kept, *command.descriptors})
        request = {
            "arguments": [str(spawned.BOOTSTRAP), str(events), str(control), "0"],
            "environment": marked(command.environment, mark),
            "folder": str(Path.cwd()),
            "descriptors": [*numbers, 0, 1, 2],
            "network": network,
        }
        with open(os.devnull) as nothing, open(command.log, "ab") as log:
            streams = (nothing.fileno(), log.fileno(), log.fileno())
            socket.send_fds(connection, [json.dumps(request).encode()], [*numbers, *streams])
        return ForkedProcess(connection)

    return start


def _network(prefix: Sequence[str]) -> str | None:
    """Return the network namespace that a command prefix enters, empty for none; None where it does more."""
    if not prefix:
        return ""
    enters = len(prefix) == 3 and prefix[1].startswith("--net=")
    return prefix[1].removeprefix("--net=") if enters else None


def _connect(command: WorkerCommand, framework: str, folder: Path) -> socket.socket:
    """Return a connection to the interpreter that suits a worker, which is started if there is none."""
    variables = {name: value for name, value in command.environment.items() if name not in OF_ONE_RUN}
    kind = json.dumps([command.interpreter, framework, dict(command.packages), variables], sort_keys=True)
    name = hashlib.sha256(kind.encode()).hexdigest()[:12]
    place, lock = folder / name, folder / f"{name}.lock"
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with open(lock, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        try:
            connection.connect(str(place))
        except OSError:
            place.unlink(missing_ok=True)  # of one that was killed
            _start_interpreter(command, framework, variables, place, lock)
            connection.connect(str(place))
    return connection


def _start_interpreter(
    command: WorkerCommand, framework: str, variables: dict[str, str], place: Path, lock: Path
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(place))
        listener.listen(64)
        given = {
            "listener": listener.fileno(),
            "folders": sorted(set(command.packages.values())),
            "framework": framework,
            "lock": str(lock),
            "place": str(place),
        }
        with open(place.with_suffix(".log"), "ab") as log:
            subprocess.Popen(
                [command.interpreter, "-s", "-u", str(PROGRAM), json.dumps(given)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=variables,
                pass_fds=(listener.fileno(),),
                start_new_session=True,
            )
