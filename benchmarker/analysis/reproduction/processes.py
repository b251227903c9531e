"""The records that are processes of one number."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarker.errors import UsageError
from benchmarker.records.keys import number_key
from benchmarker.records.lookup import Record
from benchmarker.records.reading import read_record
from benchmarker.records.schema import validate
from benchmarker.records.store import iter_records


def valid_record(path: Path) -> dict[str, Any]:
    """Return the record of a file.

    Raises
    ------
    UsageError
        If it is not valid.
    """
    record = read_record(path)
    faults = validate(record)
    if faults:
        raise UsageError(f"'{path}' is not a valid record: {faults[0]}")
    return record


def sibling_processes(record: Record, path: Path) -> list[Record]:
    """Return :func:`processes_of` a record among the files of the folder that its own is in."""
    siblings = [file for file in path.parent.glob("*.json") if file.is_file()]
    readable = (other for file in siblings for _, other in iter_records(file, lambda damaged, reason: None))
    return processes_of(record, (other for other in readable if not validate(other)))


def processes_of(record: Record, others: Iterable[Record]) -> list[Record]:
    """Return the records that ended well of the processes of one number, in order of time.

    They are those of the cell and campaign of the newest record that counts the given one, and those that it
    took up from before. Records from before campaigns were named are of one if their repetitions count up from
    one to the next.

    Parameters
    ----------
    record : mapping
        One that ended well.
    others : iterable of mapping
        Those that lie beside it; it may be among them.
    """
    known = {other["id"]: other for other in (*others, record)}
    ordered = sorted(known.values(), key=lambda other: str(other["started_at"]))
    counting = [other for other in ordered if _counts(other, record)]
    if counting:
        found = [other for other in ordered if _counts(counting[-1], other)]
    else:
        found = _counted_with(record, [other for other in ordered if number_key(other) == number_key(record)])
    return [other for other in found if other["status"] == "ok" and other["timing"]["step_seconds"]]


def _counts(record: Record, other: Record) -> bool:
    """Tell whether the number of a record is made of the other one too."""
    replication = record.get("replication")
    if not replication:
        return False
    if other["id"] in replication["resumed"]:
        return True
    same_campaign = replication["campaign"] == (other.get("replication") or {}).get("campaign")
    return same_campaign and number_key(record) == number_key(other)


def _counted_with(record: Record, ordered: list[Record]) -> list[Record]:
    """Return the stretch around a record in which repetitions go up."""
    stretches: list[list[Record]] = []
    for other in ordered:
        if stretches and other["repetition"] > stretches[-1][-1]["repetition"]:
            stretches[-1].append(other)
        else:
            stretches.append([other])
    return next(stretch for stretch in stretches if any(other["id"] == record["id"] for other in stretch))
