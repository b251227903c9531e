"""The records that are processes of one number."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Record = Mapping[str, Any]


def processes_of(record: Record, others: Iterable[Record]) -> list[Record]:
    """Return the records that ended well of the same cell and campaign, the record among them, in order of time.

    Records from before campaigns were named are of one if their repetitions count up from one to the next.

    Parameters
    ----------
    record : mapping
        One that ended well.
    others : iterable of mapping
        Those that lie beside it; it may be among them.
    """
    cell = _cell(record)
    alike = {other["id"]: other for other in (*others, record) if _cell(other) == cell}
    ordered = sorted(alike.values(), key=lambda other: str(other["started_at"]))
    if _campaign(record) is None:
        ordered = _counted_with(record, ordered)
    return [other for other in ordered if other["status"] == "ok" and other["timing"]["step_seconds"]]


def _campaign(record: Record) -> str | None:
    replication = record.get("replication")
    return replication["campaign"] if replication else None


def _cell(record: Record) -> str:
    """Return a text that records have in common if they differ in their repetition alone."""
    asked = record.get("specification")
    if asked is not None:
        what: Any = {name: value for name, value in asked.items() if name != "repetition"}
    else:
        what = [record["command"], record["framework"]["full"]]  # before 1.1 the command says it all
    return json.dumps([_campaign(record), what], sort_keys=True)


def _counted_with(record: Record, ordered: list[Record]) -> list[Record]:
    """Return the stretch around a record in which repetitions go up."""
    stretches: list[list[Record]] = []
    for other in ordered:
        if stretches and other["repetition"] > stretches[-1][-1]["repetition"]:
            stretches[-1].append(other)
        else:
            stretches.append([other])
    return next(stretch for stretch in stretches if any(other["id"] == record["id"] for other in stretch))
