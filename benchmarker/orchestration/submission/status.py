"""What has become of each part of a submission: by its own exit status, else in the words of its engine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarker.errors import UsageError, printable
from benchmarker.files import open_regular, read_regular
from benchmarker.orchestration.submission.engine import Engine, EngineState
from benchmarker.orchestration.submission.state import Submission, part_folder
from benchmarker.quick_dataclass import dataclass

CANCELLED = "cancelled"
"""File of a part that was cancelled."""
_TAIL_BYTES = 4096


@dataclass(frozen=True)
class PartState:
    """What has become of a part.

    Parameters
    ----------
    part : int
        Its number, from 1.
    job : str
        The engine's name of its last job, empty if there is none.
    state : str
        ``queued``, ``running``, ``done`` (all its runs have a good record), ``failed`` (its program says why) or
        ``ended`` (the engine ended it, or has forgotten it).
    reason : str
        The program's or the engine's own words.
    records : int
        Records that it has written.
    """

    part: int
    job: str
    state: str
    reason: str
    records: int

    @property
    def is_missing(self) -> bool:
        """Whether it is over without all its records."""
        return self.state in ("failed", "ended")

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {name: getattr(self, name) for name in ("part", "job", "state", "reason", "records")}


def part_states(submission: Submission, folder: Path) -> list[PartState]:
    """Return what has become of all parts; the engine is asked only about those that have no exit status.

    Raises
    ------
    UsageError
        If the engine does not tell.
    """
    parts = range(1, submission.parts + 1)
    jobs = {part: last.job_of(part) for part in parts if (last := submission.last_dispatch(part)) is not None}
    open_jobs = [job for part, job in jobs.items() if _exit_status(folder, part) is None]
    engine = Engine(submission.engine, folder) if open_jobs else None
    known = engine.states(open_jobs) if engine else {}
    return [_state(folder, part, jobs.get(part, ""), known) for part in parts]


def _exit_status(folder: Path, part: int) -> int | None:
    try:
        return int(read_regular(part_folder(folder, part) / "exit"))
    except (OSError, ValueError):
        return None


def _state(folder: Path, part: int, job: str, known: dict[str, EngineState]) -> PartState:
    # After the engine was asked: what ended in between has left its status.
    status = _exit_status(folder, part)
    records = len(_records(folder, part))
    if status is not None:
        reason = (
            "" if status == 0 else f"exit status {status}: {_last_line(part_folder(folder, part) / 'output')}"
        )
        return PartState(part, job, "failed" if status else "done", reason, records)
    engine_state = known.get(job)
    if engine_state is None:
        return PartState(part, job, "ended", _unknown_reason(folder, part, job), records)
    words = f"{engine_state.state} ({engine_state.reason})" if engine_state.reason else engine_state.state
    state = "ended" if engine_state.is_over else "queued" if engine_state.is_queued else "running"
    return PartState(part, job, state, words, records)


def _unknown_reason(folder: Path, part: int, job: str) -> str:
    if not job:
        return "never submitted"
    if (part_folder(folder, part) / CANCELLED).exists():
        return "cancelled by 'benchmarker jobs'"
    return "the engine does not know it, and it left no exit status"


def _records(folder: Path, part: int) -> Sequence[Path]:
    return list((part_folder(folder, part) / "results").glob("[!.]*.json"))


def _last_line(path: Path) -> str:
    """Return the last line that a job printed."""
    try:
        with os.fdopen(open_regular(path), "rb") as stream:
            stream.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            lines = stream.read().decode(errors="replace").splitlines()
    except OSError:
        return "it printed nothing"
    return next((printable(line.strip()) for line in reversed(lines) if line.strip()), "it printed nothing")


def cancel(submission: Submission, folder: Path, part: int | None = None) -> list[int]:
    """End the jobs of a submission, or of one part, that are not over; return the parts.

    Raises
    ------
    UsageError
        If there is no such part, or the engine refuses.
    """
    if part is not None and not 1 <= part <= submission.parts:
        raise UsageError(f"a part of '{submission.id}' must be from 1 to {submission.parts}, got {part}")
    states = [one for one in part_states(submission, folder) if one.state in ("queued", "running")]
    wanted = [one for one in states if part is None or one.part == part]
    engine = Engine(submission.engine, folder) if wanted else None
    for one in wanted:
        assert engine is not None
        engine.cancel(one.job)
        # Slurm forgets a task of an array that is cancelled before it begins.
        mark = part_folder(folder, one.part) / CANCELLED
        mark.parent.mkdir(exist_ok=True)
        mark.touch()
    return [one.part for one in wanted]
