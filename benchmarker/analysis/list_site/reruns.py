"""What ``rerun`` found, kept as a file beside the record; the proof are the records of both sides, which it names."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarker.analysis.list_site.measures import measured
from benchmarker.analysis.reproduction.compare import Comparison, compare
from benchmarker.analysis.reproduction.verdict import REPRODUCED
from benchmarker.analysis.text.rerun import sentence
from benchmarker.errors import UsageError, shortened
from benchmarker.files import publish
from benchmarker.quick_dataclass import dataclass
from benchmarker.records import places
from benchmarker.records.keys import machine_models
from benchmarker.records.lookup import Record
from benchmarker.records.reading import DamagedError, parse_json, read_bytes

ENDING = ".rerun"
"""Not ``.json``: all files of that name in a results folder are records."""
_VERSION = 1
_MEMBERS = {"rerun_version", "record", "processes", "new_records", "verdict", "sentence"}
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,127}")
_MAX_SHOWN = 200


@dataclass(frozen=True)
class Rerun:
    """A kept verdict.

    Parameters
    ----------
    file : Path
        Where it lies.
    processes, new : tuple of str
        Identifiers of the records of both sides.
    verdict : str
        As ``rerun`` gave it.
    """

    file: Path
    processes: tuple[str, ...]
    new: tuple[str, ...]
    verdict: str


def verdict_file(record: Path) -> Path:
    """Return where the verdict on a record is kept."""
    return record.with_suffix(ENDING)


def check_free(record: Path) -> None:
    """Say before anything is run that no verdict on a record can be kept.

    Raises
    ------
    UsageError
        If there is one, which counts, so that nobody runs again until it suits; or if the record lies elsewhere.
    """
    if places.shown(record) != str(record):
        raise UsageError(
            f"a verdict is kept next to a record on this machine, got '{places.shown(record)}'; bring it here with "
            "benchmarker results merge"
        )
    if verdict_file(record).exists():
        raise UsageError(f"the verdict '{verdict_file(record)}' already exists: move it away to keep another")


def keep(record: Path, comparison: Comparison, processes: Sequence[Record], new: Sequence[Record]) -> Path:
    """Write the verdict on a record beside it and return the file.

    Raises
    ------
    UsageError
        If it is there already, or cannot be written.
    """
    file = verdict_file(record)
    content = {
        "rerun_version": _VERSION,
        "record": record.name,
        "processes": [one["id"] for one in processes],
        "new_records": [one["id"] for one in new],
        "verdict": comparison.verdict,
        "sentence": sentence(comparison),
    }
    try:
        free = publish(file, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode("utf-8"))
    except OSError as error:
        raise UsageError(f"the verdict cannot be kept as '{file}': {error.strerror}") from None
    if not free:
        check_free(record)
    return file


def read_rerun(file: Path) -> Rerun:
    """Return a kept verdict.

    Raises
    ------
    DamagedError
        If the file is none; the text goes on from its name.
    """
    try:
        found = parse_json(read_bytes(file, follow=False))
    except ValueError as error:
        raise DamagedError(f"is not JSON: {error}") from None
    if not isinstance(found, dict) or found.keys() != _MEMBERS or found["rerun_version"] != _VERSION:
        raise DamagedError("is not a verdict that benchmarker rerun --keep-verdict has written")
    ids = [*_ids(found["processes"]), *_ids(found["new_records"])]
    if len(set(ids)) < len(ids):
        raise DamagedError("names a record twice")
    return Rerun(file, _ids(found["processes"]), _ids(found["new_records"]), str(found["verdict"]))


def _ids(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) and _ID.fullmatch(one) for one in value):
        raise DamagedError(
            f"must name records by their identifiers, got {shortened(repr(value), _MAX_SHOWN)}"
        )
    return tuple(value)


def rerun_fault(rerun: Rerun, processes: Sequence[Record], known: Mapping[str, Record]) -> str | None:
    """Return why a kept verdict does not show that an entry was reproduced; None if it does.

    The verdict is made again from the records that it names, so that nobody need believe the file.

    Parameters
    ----------
    rerun : Rerun
        The verdict.
    processes : sequence of record
        Those of the entry.
    known : mapping
        All records at hand, by identifier.
    """
    ours = {record["id"] for record in processes if record["status"] == "ok"}
    is_training = bool(processes[0].get("training"))  # of which one seed is run again
    if not rerun.processes or not ours >= set(rerun.processes):
        return "is about other records"
    if not is_training and len(rerun.processes) < len(ours):
        return f"covers {len(rerun.processes)} of {len(ours)} processes"
    if not rerun.new:
        return "says that no new process succeeded"
    missing = [name for name in (*rerun.processes, *rerun.new) if name not in known]
    if missing:
        return f"names the record {missing[0]}, which is not here"
    originals, again = ([known[name] for name in names] for names in (rerun.processes, rerun.new))
    if not all(map(_has_number, (*originals, *again))):
        return "names a record without a number"
    last = max(record["started_at"] for record in originals)
    if any(record["started_at"] <= last for record in again):
        return "names a record that is not later than the entry"
    if any(machine_models(record) != machine_models(originals[0]) for record in again):
        return "is from another machine"
    found = compare(originals, again)
    if found.verdict != REPRODUCED:
        return f"has the outcome: {sentence(found)}"
    if rerun.verdict != REPRODUCED:
        return f"says '{shortened(rerun.verdict, _MAX_SHOWN)}', but its records say otherwise"
    return None


def _has_number(record: Record) -> bool:
    """Tell whether a run ended well and has a step time that a ratio can be made of."""
    return record["status"] == "ok" and measured("step_seconds", record) is not None
