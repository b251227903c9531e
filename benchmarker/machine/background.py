"""A command that runs beside the worker and is waited for, within a bound, before anything is timed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence

from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Outcome:
    """What a command wrote to its standard output, or why there is nothing to use."""

    output: str = ""
    reason: str | None = None


class BackgroundCommand:
    """A child process in a session of its own, without descriptors of ours, its output in a file.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    environment : mapping or None
        Its environment variables; ``None`` for ours.

    Raises
    ------
    OSError
        If it cannot be started.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        # A file, not a pipe: a full pipe would stop a child that nobody reads from.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the command has ended
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        except BaseException:
            self._output.close()
            raise
        self._outcome: Outcome | None = None

    @property
    def pid(self) -> int:
        """Process identifier, also that of its process group."""
        return self._process.pid

    def finish(self, timeout: float) -> Outcome:
        """Wait until the command ends; kill it, and all it started, after ``timeout`` seconds."""
        if self._outcome is None:
            try:
                self._outcome = self._wait(timeout)
            finally:
                self.kill()
        return self._outcome

    def _wait(self, timeout: float) -> Outcome:
        try:
            status = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return Outcome(reason=f"took longer than {timeout:g} s and was stopped")
        if status:
            return Outcome(reason=f"ended with status {status}")
        self._output.seek(0)
        return Outcome(self._output.read().decode("utf-8", errors="replace"))

    def kill(self) -> None:
        """End the command and all it started; does nothing when it has ended."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._output.close()
