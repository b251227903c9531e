"""From how a worker ended to the status of its run: what happened, where, and the log's last lines."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchmarker.api.launcher import Event, Outcome
from benchmarker.errors import BenchmarkerError, UnsupportedError, UsageError, printable_lines
from benchmarker.files import open_regular
from benchmarker.quick_dataclass import dataclass

LOG_TAIL_BYTES = 8192
_OURS = ("the worker ", "the kernel killed the worker ")
"""How sentences of ours begin that name the worker."""
ENDED_WITH_GROUP = "GroupEnded"
"""Type of the failure of a rank that was ended because another one had come to no good end."""
NOT_PROVEN = "VerificationFailed"
"""Type of the failure of a run that computes something else."""
_BAD_ALLOCATION = ("std::bad_alloc", "std::length_error", "cudaErrorMemoryAllocation", "out of memory")

MEANT_FOR_USER: Mapping[str, type[BenchmarkerError]] = {
    "UsageError": UsageError,
    "UnsupportedError": UnsupportedError,
}


@dataclass(frozen=True)
class Failure:
    """Why a run is not ``ok``."""

    status: str
    stage: str
    type: str
    message: str

    def error(self, sentence: str) -> BenchmarkerError:
        """Return the error that tells it: the worker's own kind if that is meant for the user."""
        return MEANT_FOR_USER.get(self.type, BenchmarkerError)(sentence)

    def of_rank(self, name: str) -> Failure:
        """Return the same failure with the name of a rank, or of several, in its message."""
        if self.type == NOT_PROVEN:
            return self  # All ranks have agreed on it, and it says whose it is.
        if self.message.startswith(_OURS):
            return replace(self, message=self.message.replace("the worker", name, 1))
        return replace(self, message=f"{name}: {self.message}")


def log_tail(path: Path) -> str:
    """Return the last lines of a log, decoded whatever they hold and harmless to show."""
    try:
        with os.fdopen(open_regular(path), "rb") as log:
            size = log.seek(0, 2)
            log.seek(max(0, size - LOG_TAIL_BYTES))
            return printable_lines(log.read(LOG_TAIL_BYTES).decode(errors="replace"))[-LOG_TAIL_BYTES:]
    except OSError:
        return ""


def oom_kills() -> int:
    """Return how many processes the kernel has killed for lack of memory, as far as it tells us."""
    total = 0
    for path, key in (
        (Path("/proc/vmstat"), "oom_kill"),
        (_control_group() / "memory.events", "oom_kill"),
    ):
        try:
            rows = dict(line.split() for line in path.read_text().splitlines())
            total += int(rows.get(key, 0))
        except (OSError, ValueError):
            continue
    return total


def _control_group() -> Path:
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return Path("/sys/fs/cgroup")
    own = next((line.split("::", 1)[1] for line in lines if line.startswith("0::")), "/")
    return Path("/sys/fs/cgroup") / own.lstrip("/")


def failure(
    outcome: Outcome,
    stage: str,
    events: Mapping[str, Event],
    tail: str,
    killed_for_memory: bool,
    timeout: float | None,
    silence: float | None = None,
) -> Failure | None:
    """Return why the run failed, or None if it is ``ok``.

    Parameters
    ----------
    outcome : Outcome
        How the process ended.
    stage : str
        The last stage the worker announced.
    events : mapping
        The worker's last event of each kind; ``error``, ``verification``, ``proof`` and ``result`` count.
    tail : str
        End of the run's log.
    killed_for_memory : bool
        Whether the kernel killed a process for lack of memory during the run.
    timeout : float or None
        The run's time limit in seconds.
    silence : float, optional
        Seconds that a rank may say nothing while another waits, or be stopped by a signal.
    """
    if outcome.ended_by == "interrupt":
        return Failure("interrupted", stage, "KeyboardInterrupt", "interrupted by the user")
    if outcome.ended_by == "timeout":
        return Failure("timeout", stage, "Timeout", f"still in stage '{stage}' after {timeout:g} s")
    if outcome.ended_by == "silence":
        message = f"the worker said nothing for {silence:g} s in stage '{stage}' while other ranks waited"
        return Failure("timeout", stage, "Silence", message)
    if outcome.ended_by == "stopped":
        message = (
            f"the worker was stopped by a signal for {silence:g} s in stage '{stage}' while other ranks ran"
        )
        return Failure("timeout", stage, "Stopped", message)
    if outcome.ended_by == "group":
        message = f"the worker was ended in stage '{stage}' because another rank had ended"
        return Failure("failed", stage, ENDED_WITH_GROUP, message)
    error, verification, proof = (events.get(kind) for kind in ("error", "verification", "proof"))
    if error is not None:
        status = "out_of_memory" if error.get("out_of_memory") else "failed"
        return Failure(
            status, str(error.get("stage", stage)), str(error.get("type")), str(error.get("message"))
        )
    if verification is not None and verification.get("status") == "failed":
        return Failure("failed", "verify", NOT_PROVEN, str(verification.get("reason")))
    if proof is not None and proof.get("status") == "failed":
        return Failure("failed", stage, NOT_PROVEN, f"after the timed part: {proof.get('reason')}")
    if "result" in events:
        return None
    return _died(outcome, stage, tail, killed_for_memory)


def _died(outcome: Outcome, stage: str, tail: str, killed_for_memory: bool) -> Failure:
    status, said = outcome.exit_status, f": {outcome.reason}" if outcome.reason else ""
    if status is None or status >= 0:
        message = f"the worker ended with exit status {status} in stage '{stage}' without a result"
        if outcome.unreadable_events:
            message += f"; {outcome.unreadable_events} lines on its event pipe were not events"
        return Failure("crashed", stage, "Exit", message + said)
    number = -status
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    if number == signal.SIGKILL and killed_for_memory:
        message = f"the kernel killed the worker in stage '{stage}' because memory ran out"
        return Failure("out_of_memory", stage, name, message)
    sign = next((sign for sign in _BAD_ALLOCATION if sign in tail), None)
    if sign is not None:
        message = f"the worker was ended by {name} in stage '{stage}' after '{sign}'"
        return Failure("out_of_memory", stage, name, message)
    return Failure("crashed", stage, name, f"the worker was ended by {name} in stage '{stage}'{said}")
