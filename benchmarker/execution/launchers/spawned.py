"""A worker that is a new interpreter."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarker.api.launcher import WorkerCommand
from benchmarker.errors import EnvironmentCreationError
from benchmarker.execution.launchers.guard import Guard
from benchmarker.execution.launchers.worker_process import WorkerProcess

_STOPPED = "Tt"
BOOTSTRAP = Path(__file__).resolve().parents[2] / "worker" / "bootstrap.py"


class GuardedProcess:
    """The bootstrap under a command's interpreter, in a session and process group of its own, with its guard.

    Parameters
    ----------
    events, control : int
        The descriptors that it is told.
    kept : sequence of int
        The descriptors that it inherits.

    Attributes
    ----------
    process : Popen
        The interpreter.

    Raises
    ------
    EnvironmentCreationError
        If the interpreter does not start.
    """

    def __init__(self, command: WorkerCommand, events: int, control: int, kept: Sequence[int]) -> None:
        self.process = _start(command, events, control, kept)
        try:
            self._guard = Guard(self.process.pid)
        except BaseException:
            self._kill_group()
            self.process.wait()
            raise

    def end(self) -> int:
        """End it and all that it started in its group, harmless if they are gone; return its exit status."""
        self._kill_group()
        self._guard.dismiss()
        return self.process.wait()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)


def _start(command: WorkerCommand, events: int, control: int, kept: Sequence[int]) -> subprocess.Popen[bytes]:
    python = [*command.prefix, command.interpreter, "-s", "-u"]
    arguments = [*python, str(BOOTSTRAP), str(events), str(control), str(os.getpid())]
    with open(command.log, "ab") as log:
        try:
            return subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(*kept, *command.descriptors),
                start_new_session=True,
                env=dict(command.environment),
            )
        except OSError as error:
            raise EnvironmentCreationError(
                f"{'the interpreter' if not command.prefix else 'the command'} '{python[0]}' "
                f"could not be started: {error.strerror}"
            ) from error


def send_message(control: Any, command: WorkerCommand, **what: Any) -> None:
    """Tell the bootstrap what to do, and all it needs before it can import anything."""
    with contextlib.suppress(BrokenPipeError):
        control.write((json.dumps(starting_message(command, **what)) + "\n").encode())


def starting_message(command: WorkerCommand, **what: Any) -> dict[str, Any]:
    """Return what the bootstrap is told first."""
    return {**what, "packages": dict(command.packages), "affinity": list(command.affinity)}


class Spawned(WorkerProcess):
    """A child process of ours; a thread waits for its end."""

    def __init__(self, interpreter: GuardedProcess) -> None:
        self._interpreter = interpreter
        self._process = interpreter.process
        self._notice, writable = os.pipe()
        threading.Thread(target=self._tell_end, args=(writable,), name="waiter", daemon=True).start()

    def _tell_end(self, writable: int) -> None:
        self._process.wait()
        os.close(writable)

    @property
    def notice(self) -> int:
        return self._notice

    def has_ended(self) -> bool:
        return True

    def wait(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def send_signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def end(self) -> int:
        return self._interpreter.end()

    def is_stopped(self) -> bool:
        try:
            state = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            return False
        return state in _STOPPED

    def close(self) -> None:
        """End the process group and give back the notice's descriptor."""
        self.end()
        os.close(self._notice)
