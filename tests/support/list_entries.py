"""Entries of a list for tests: records of a number's processes, those of its rerun, and the verdict beside them."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarker.analysis.list_site.reruns import keep
from benchmarker.analysis.reproduction import compare
from tests.support.records import make_record

CONTEST = """
title = "Inference of example"
description = "What everybody can do."
division = "closed"
ranked_by = "step_seconds"
currency = "EUR"

[fixed]
"""


def processes(seconds: float, *, count: int = 5, day: int = 1, **changes: Any) -> list[dict[str, Any]]:
    """Return the records of a number's processes, whose medians differ by about half a percent.

    Parameters
    ----------
    seconds : float
        Of a step, about.
    count : int
        Processes.
    day : int
        Of March 2025.
    changes
        As of :func:`tests.support.records.make_record`.
    """
    campaign = uuid.uuid4().hex
    draw = random.Random(f"{seconds} {day} {sorted(changes)}")
    found = []
    for place in range(count):
        record = make_record(
            [seconds * (1 + draw.gauss(0, 0.004))] * 20,
            **{
                "started_at": f"2025-03-{day:02}T11:{place:02}:00.000000Z",
                "ended_at": f"2025-03-{day:02}T11:{place:02}:36.000000Z",
                "metrics__cost_of_run": 0.004,
                "replication__campaign": campaign,
                "repetition": place,
                **changes,
            },
        )
        found.append(record)
    return found


def write(folder: Path, records: Sequence[dict[str, Any]]) -> list[Path]:
    """Write records to a folder and return their files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for record in records:
        paths.append(folder / f"{record['framework']['name']}-{record['id'][:12]}.json")
        paths[-1].write_text(json.dumps(record), encoding="utf-8")
    return paths


def submit(
    folder: Path, seconds: float, *, again: float | None = None, day: int = 1, **changes: Any
) -> list[Path]:
    """Write an entry, its rerun a day later and the verdict; return the files of the entry.

    Parameters
    ----------
    folder : Path
        Where they go.
    seconds : float
        Of a step.
    again : float, optional
        Of a step when it was run again; default: the same.
    day, changes
        As of :func:`processes`.
    """
    first = processes(seconds, day=day, **changes)
    second = processes(seconds if again is None else again, day=day + 1, **changes)
    paths = write(folder, first)
    write(folder, second)
    keep(paths[0], compare(first, second), first, second)
    return paths


def contest_text(records: Sequence[dict[str, Any]], head: str = CONTEST) -> str:
    """Return a contest that fixes all of the work that a record did, but for what is of the machine."""
    keys = records[0]["comparable"]["keys"]
    fixed = {
        name: value
        for name, value in keys.items()
        if name not in ("device", "devices", "threads") and value is not None
    }
    return head + "".join(f"{name} = {_toml(value)}\n" for name, value in fixed.items())


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(member)}" for name, member in value.items()) + " }"
    return json.dumps(value)


def contests(folder: Path, **texts: str) -> Path:
    """Write contests, the one of :func:`contest_text` as ``example`` if none is given; return their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (texts or {"example": contest_text(processes(0.01))}).items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder
