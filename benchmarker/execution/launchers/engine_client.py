"""A client of an engine, such as ``srun``: asked to leave before it is killed, so that it ends what it has started."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from benchmarker.api.launcher import Outcome
from benchmarker.errors import EnvironmentCreationError, printable
from benchmarker.execution.launchers.event_loop import GRACE_SECONDS
from benchmarker.execution.launchers.guard import Guard
from benchmarker.execution.launchers.leftovers import marked, new_mark
from benchmarker.execution.launchers.spawned import GuardedProcess
from benchmarker.execution.outcomes import log_tail

LEAVE_SECONDS = 5.0
"""How long it may take to leave once all that it has started has."""


class EngineClient(GuardedProcess):
    """The client as a process with its guard.

    Parameters
    ----------
    arguments : sequence of str
        Its command; no process stands between, which would hide its end.
    stdin, stdout : int or file
        As :class:`subprocess.Popen` takes them.
    log : Path
        What its standard error is added to.
    environment : mapping, optional
        Of the client, instead of ours.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        stdin: int | IO[bytes],
        stdout: int | IO[bytes],
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._mark = new_mark()
        with open(log, "ab") as stream:
            try:
                self.process = subprocess.Popen(
                    arguments,
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stream,
                    start_new_session=True,
                    env=marked(os.environ if environment is None else environment, self._mark),
                )
            except OSError as error:
                raise EnvironmentCreationError(
                    f"'{arguments[0]}' could not be started: {error.strerror}"
                ) from error
        self._guard = Guard(self.process.pid, self._mark, graceful=True)

    def leave(self) -> int:
        """Let it end by itself, for a while; return its exit status."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(LEAVE_SECONDS)
        return self.end()

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE_SECONDS)
        return super().end()


def with_reason(outcome: Outcome, log: Path, reasons: Sequence[re.Pattern[str]]) -> Outcome:
    """Return how a worker ended, with what the engine has said of it in the log if it came to no good end."""
    if outcome.ended_by != "itself" or outcome.exit_status == 0:
        return outcome
    return replace(outcome, reason=said_in(log, reasons))


def said_in(log: Path, reasons: Sequence[re.Pattern[str]]) -> str | None:
    """Return the line of a log that says why something has ended; None if there is none.

    Parameters
    ----------
    reasons : sequence of re.Pattern
        What such lines have in them, what says most first.
    """
    lines = log_tail(log).splitlines()
    said = next((line for reason in reasons for line in lines if reason.search(line)), None)
    return None if said is None else printable(said.strip())
