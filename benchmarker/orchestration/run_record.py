"""The record of one run, whatever is wrong with what is known of it, and the files beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO

from benchmarker.errors import BenchmarkerError, first_line
from benchmarker.execution.outcomes import Failure, log_tail
from benchmarker.files import open_regular
from benchmarker.machine.peaks import peaks_for
from benchmarker.machine.speed import best_so_far, speed
from benchmarker.records.assembly.facts import RunFacts
from benchmarker.records.attachments import TRACE
from benchmarker.records.store import checked

FAULTS = (Exception, SystemExit)
"""What ends a run alone, of whatever a plug-in raises; an interruption ends the campaign."""
KEPT_LOG_BYTES = 1 << 20
MAX_TRACE_BYTES = 256 << 20
STAGE = "record"
"""What goes wrong once the worker has ended."""


def record_of(facts: RunFacts, failed: Failure | None, log: Path, tail: str = "") -> dict[str, Any]:
    """Return the record of a run as it can be stored: without what makes no valid record, which then has failed.

    Parameters
    ----------
    facts : RunFacts
        What is known.
    failed : Failure or None
        Why it did not end well.
    log : Path
        The run's log, to which a fault adds its traceback.
    tail : str
        The last lines of the worker's output.
    """
    for less in _less_and_less(facts):
        try:
            return checked(_assembled(less, failed, tail))
        except Exception as error:
            failed = failed or unforeseen(error, log)
            tail = tail or log_tail(log)
            last = error
    raise last


def _less_and_less(facts: RunFacts) -> Iterator[RunFacts]:
    yield facts
    yield replace(facts, events={})
    known = {name: getattr(facts, name) for name in ("started_at", "ended_at", "began")}
    yield RunFacts(facts.spec, **known)


def unforeseen(error: BaseException, log: Path) -> Failure:
    """Return what a run has ended with that met a fault of ours or of a plug-in's, whose traceback goes to its log."""
    import traceback

    # What cannot be written is not worth the run.
    with suppress(OSError):
        descriptor = open_regular(log, add=True)
        with os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace") as stream:
            traceback.print_exception(error, file=stream)
    return Failure(
        "failed", STAGE, type(error).__name__, f"the run could not be recorded: {first_line(error)}"
    )


def _assembled(facts: RunFacts, failed: Failure | None, tail: str) -> dict[str, Any]:
    """Return the record of a run, with what is known of the machine beside it."""
    device = facts.calibrated_device
    peaks = peaks_for(device, facts.spec.threads, facts.spec.precision) if device else None
    timed = bool(facts.event("result"))
    # Imported late: a run can start without them, and they are while the first worker imports its framework: see
    # RunEvents.
    from benchmarker.orchestration import doctor
    from benchmarker.records.assembly.record import make_record

    facts = replace(
        facts,
        peaks=asdict(peaks) if peaks else None,
        doctor=doctor.summary() if timed else None,
        speed=_speed(facts),
    )
    return make_record(facts, failed, tail)


def _speed(facts: RunFacts) -> dict[str, Any] | None:
    """Return which share of its own speed the machine had, compared with runs of as many threads and ranks."""
    found = facts.event("result").get("speed")
    if not found:
        return None
    spec, best = facts.spec, None
    # Ranks that copy at once share what they copy through.
    conditions = {"framework": spec.framework, "threads": spec.threads, "ranks": spec.ranks}
    # A cache that cannot be written is no fault of the run.
    with suppress(OSError, BenchmarkerError):
        best = best_so_far(found, conditions)
    return speed(found, best)


def trace_path(log: Path) -> Path:
    """Return where the worker of a run leaves its trace."""
    return log.with_suffix(TRACE)


def log_text(log: Path) -> str | None:
    """Return the run's log, the middle left out if it is very long."""
    try:
        # It is the worker's: there may be anything in its place.
        with os.fdopen(open_regular(log), "rb") as stream:
            data = _ends(stream, os.fstat(stream.fileno()).st_size)
    except OSError:
        return None
    return data.decode(errors="replace") or None


def _ends(stream: BinaryIO, size: int) -> bytes:
    if size <= KEPT_LOG_BYTES:
        return stream.read(KEPT_LOG_BYTES)
    half = KEPT_LOG_BYTES // 2
    head = stream.read(half)
    stream.seek(size - half)
    return head + f"\n... {size - 2 * half} bytes left out ...\n".encode() + stream.read(half)


def trace_bytes(log: Path) -> bytes | None:
    """Return the trace that the worker of a run has left; None if there is none, or none that can be kept."""
    trace = trace_path(log)
    try:
        if not trace.is_file() or trace.stat().st_size > MAX_TRACE_BYTES:
            return None
        return trace.read_bytes()
    except OSError:
        return None
