"""A worker that is a new interpreter."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from benchmarker.errors import EnvironmentCreationError
from benchmarker.launchers import WorkerCommand
from benchmarker.launchers.conversation import WorkerProcess

BOOTSTRAP = Path(__file__).resolve().parent.parent / "worker" / "bootstrap.py"


def start_interpreter(
    command: WorkerCommand, events: int, control: int, kept: Sequence[int]
) -> subprocess.Popen[bytes]:
    """Start the bootstrap under the command's interpreter, in a session and process group of its own.

    Parameters
    ----------
    events, control : int
        The descriptors that it is told.
    kept : sequence of int
        The descriptors that it inherits.

    Raises
    ------
    EnvironmentCreationError
        If the interpreter does not start.
    """
    arguments = [command.interpreter, "-s", "-u", str(BOOTSTRAP), str(events), str(control), str(os.getpid())]
    with open(command.log, "ab") as log:
        try:
            return subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=kept,
                start_new_session=True,
                env=dict(command.environment),
            )
        except OSError as error:
            raise EnvironmentCreationError(
                f"the interpreter '{command.interpreter}' could not be started: {error.strerror}"
            ) from error


def end_group(process: subprocess.Popen[bytes]) -> int:
    """End a process and all that it started in its group; harmless if they are gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


class Spawned(WorkerProcess):
    """A child process of ours; a thread waits for its end."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
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
        return end_group(self._process)

    def close(self) -> None:
        """End the process group and give back the notice's descriptor."""
        self.end()
        os.close(self._notice)
