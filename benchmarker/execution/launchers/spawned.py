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

from benchmarker.api.launcher import Enclosure, WorkerCommand
from benchmarker.errors import EnvironmentCreationError
from benchmarker.execution.launchers.guard import Guard
from benchmarker.execution.launchers.leftovers import end_marked, marked, new_mark
from benchmarker.execution.launchers.worker_process import WorkerProcess

_STOPPED = "Tt"
ENDING_SECONDS = 20.0
"""How long an engine may take to end a container."""
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

    _enclosure: Enclosure | None = None
    _status: int | None = None
    """How it ended, once nothing is left of it."""

    def __init__(self, command: WorkerCommand, events: int, control: int, kept: Sequence[int]) -> None:
        self._enclosure = command.enclosure
        self._mark = new_mark()
        self.process = _start(command, self._mark, events, control, kept)
        try:
            self._guard = Guard(self.process.pid, self._mark)
        except BaseException:
            self._kill_group()
            self.process.wait()
            raise

    def end(self) -> int:
        """End it and all that it started, harmless if they are gone; return its exit status."""
        if self._status is not None:
            return self._status
        if self.process.poll() is None:
            self._end_enclosed()
        self._kill_group()
        nothing_left = end_marked(self._mark)
        self._guard.dismiss()
        status = self.process.wait()
        if self._enclosure is not None and status > 128:
            status = 128 - status  # an engine tells of a signal as shells do
        if nothing_left:
            self._status = status
        return status

    @property
    def worker(self) -> int:
        """The number of the process that works: the engine's only child where that stays beside it."""
        if self._enclosure is None or not self._enclosure.stays:
            return self.process.pid
        own = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with contextlib.suppress(OSError, IndexError, ValueError):
            return int(Path(own).read_text().split()[0])
        return self.process.pid

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the process that works."""
        if self.worker == self.process.pid:
            self.process.send_signal(number)
        else:
            os.kill(self.worker, number)

    def _end_enclosed(self) -> None:
        """End what an engine has started elsewhere."""
        if self._enclosure is None or not self._enclosure.ending:
            return
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                self._enclosure.ending,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=dict(self._enclosure.environment),
                timeout=ENDING_SECONDS,
                check=False,
            )

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)


def _start(
    command: WorkerCommand, mark: str, events: int, control: int, kept: Sequence[int]
) -> subprocess.Popen[bytes]:
    enclosure = command.enclosure
    around = [*command.prefix, *(enclosure.command if enclosure else ())]
    python = [*around, command.interpreter, "-s", "-u"]
    # Inside a container the parent may be the engine.
    parent = os.getpid() if enclosure is None else 0
    arguments = [*python, str(BOOTSTRAP), str(events), str(control), str(parent)]
    with open(command.log, "ab") as log:
        try:
            return subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(*kept, *command.descriptors),
                start_new_session=True,
                env=marked(command.environment if enclosure is None else enclosure.environment, mark),
            )
        except OSError as error:
            raise EnvironmentCreationError(
                f"{'the command' if around else 'the interpreter'} '{python[0]}' "
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
            self._interpreter.send_signal(number)

    def end(self) -> int:
        return self._interpreter.end()

    def is_stopped(self) -> bool:
        try:
            state = Path(f"/proc/{self._interpreter.worker}/stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            return False
        return state in _STOPPED

    def close(self) -> None:
        """End the process group and give back the notice's descriptor."""
        self.end()
        os.close(self._notice)
