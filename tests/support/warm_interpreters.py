"""Processes that are forks of interpreters which have imported a framework, for tests of what they do after that.

To import PyTorch or TensorFlow takes most of a short run's processor time, and NumPy a third. Workers of managed
environments, and of NumPy in the tests' own, start this way unless the test is marked ``cold``; from the bootstrap on
they are as any worker. One interpreter serves all that this session starts of the same framework with the same packages
and variables.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarker import registry
from benchmarker.api.launcher import WorkerCommand
from benchmarker.execution.launchers import spawned
from benchmarker.execution.launchers.leftovers import VARIABLE, marked

ROOT = str(Path(__file__).resolve().parents[2])
PROGRAM = Path(__file__).resolve().parents[1] / "in_framework" / "warm_interpreter.py"
NUMPY = "benchmarker.plugins.numpy"
OF_ONE_RUN = (
    "BENCHMARKER_",
    "COLUMNS",
    "CUPY_CACHE_DIR",
    "HOSTILE_",
    "MIRROR_",
    "MPIR_",
    "OLDPWD",
    "OMPI_",
    "PATH",
    "PMIX_",
    "PMI_",
    "PWD",
    "PYTEST_",
    "PYTHONHASHSEED",
    "PYTHONPATH",
    "SHLVL",
    "THRIFTY_",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
    "_",
    VARIABLE,
)
"""How variables begin that differ between tests, or between runs, and that no import of a framework reads."""


@dataclass(frozen=True)
class WarmInterpreter:
    """What a framework's interpreter has imported, and with what.

    Parameters
    ----------
    path : str
        The interpreter.
    framework : str
        The value of its entry point.
    variables : mapping
        Of the environment.
    """

    path: str
    framework: str
    variables: Mapping[str, str]

    def fork(self, sockets: Path, request: Mapping[str, Any], descriptors: Sequence[int]) -> ForkedProcess:
        """Return a fork, of the interpreter whose socket is among some, or which is started now.

        Parameters
        ----------
        sockets : Path
            The folder.
        request : mapping
            ``arguments``, after the interpreter; ``environment``; its working directory, ``folder``; the numbers that
            its ``descriptors`` have there; and the ``network`` namespace that it enters, if any.
        descriptors : sequence of int
            As numbered here.
        """
        connection = self._connect(sockets)
        socket.send_fds(connection, [json.dumps(request).encode()], list(descriptors))
        return ForkedProcess(connection)

    def _connect(self, sockets: Path) -> socket.socket:
        kind = json.dumps([self.path, self.framework, self.variables], sort_keys=True)
        name = hashlib.sha256(kind.encode()).hexdigest()[:12]
        place, lock = sockets / name, sockets / f"{name}.lock"
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with open(lock, "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            try:
                connection.connect(str(place))
            except OSError:
                place.unlink(missing_ok=True)  # of one that was killed
                self._start(place, lock)
                connection.connect(str(place))
        return connection

    def _start(self, place: Path, lock: Path) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(str(place))
            listener.listen(64)
            given = {
                "listener": listener.fileno(),
                "folder": ROOT,
                "framework": self.framework,
                "lock": str(lock),
                "place": str(place),
            }
            os.set_inheritable(listener.fileno(), True)
            log = str(place.with_suffix(".log"))
            os.posix_spawn(  # nobody waits for it: it ends by itself
                self.path,
                [self.path, "-s", "-u", str(PROGRAM), json.dumps(given)],
                self.variables,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
                setsid=True,
            )


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
                with self._connection:
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
            with contextlib.suppress(ValueError):  # another thread has just been told, and closed it
                select.select([self._connection], [], [], left)
        return status

    def send_signal(self, number: int) -> None:
        """Send it a signal if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)


def of_many_runs(environment: Mapping[str, str], framework: str) -> dict[str, str]:
    """Return the variables that an import of a framework may read."""
    others = OF_ONE_RUN if "jax" in framework else (*OF_ONE_RUN, "JAX_")
    return {name: value for name, value in environment.items() if not name.startswith(others)}


def use_warm_interpreters(folder: Path) -> None:
    """Have this process start workers of managed environments and of its own so, with sockets in a folder."""
    usual = spawned._start
    spawned._start = warm_start(usual, folder)


def warm_start(usual: Callable[..., Any], sockets: Path) -> Callable[..., Any]:
    def start(command: WorkerCommand, mark: str, events: int, control: int, kept: Sequence[int]) -> Any:
        framework, network = _imported(command), _network(command.prefix)
        if framework is None or network is None:
            return usual(command, mark, events, control, kept)
        variables = of_many_runs(command.environment, framework)
        interpreter = WarmInterpreter(command.interpreter, framework, variables)
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
            return interpreter.fork(sockets, request, [*numbers, *streams])

    return start


def _imported(command: WorkerCommand) -> str | None:
    """Return the framework that a worker's interpreter has imported, or None where no other run would share it.

    What a test has written beside our package is its own: a fork imports that, of an interpreter that has imported the
    framework in whose environment it is, or NumPy, which all have.
    """
    framework = str(command.job.get("framework", ""))
    if not framework or command.enclosure is not None or command.packages.get("benchmarker") != ROOT:
        return None
    if command.interpreter == sys.executable:
        return NUMPY
    _, managed, folder = command.interpreter.partition("/environments/")
    if not managed:
        return None
    if framework.startswith("benchmarker."):
        return framework
    entry = registry.find("frameworks", folder.partition("-")[0])
    return entry.value if entry.is_ours else NUMPY


def _network(prefix: Sequence[str]) -> str | None:
    """Return the network namespace that a command prefix enters, empty for none; None where it does more."""
    if not prefix:
        return ""
    enters = len(prefix) == 3 and prefix[1].startswith("--net=")
    return prefix[1].removeprefix("--net=") if enters else None
