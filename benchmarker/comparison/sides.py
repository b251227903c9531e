"""From what was asked for to records: a record, a folder, filters or a git revision."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarker.comparison.cells import Side
from benchmarker.comparison.revisions import REVISION, commit_of
from benchmarker.errors import UsageError
from benchmarker.report.asked import value_at
from benchmarker.rerunning import processes_of
from benchmarker.results import collect

Record = Mapping[str, Any]
OnProgress = Callable[[int, int], None] | None
_MEMORY = "platform.memory.total_bytes"
"""Is computed with, and is left open by the schema, which reading holds all else to."""
_CHECKOUT = "platform.source_control.working_directory"


def find_side(text: str, results: str | os.PathLike[str], on_progress: OnProgress = None) -> Side:
    """Return the records that a text names.

    Parameters
    ----------
    text : str
        The file, name or part of the identifier of a record, with which all processes of its number
        count; a folder; ``KEY=VALUE`` words with spaces between; or ``git:REVISION``, for the records that were
        made in a checkout of that commit without changes.
    results : path
        The folder that names, filters and revisions are looked for in.
    on_progress : callable or None
        Called with the number of records that are read and of those that must be.

    Raises
    ------
    UsageError
        If nothing is found.
    """
    if text.startswith(REVISION):
        return _of_revision(text, results, on_progress)
    if Path(text).is_dir():
        return _sound(text, *_read(text, {}, on_progress), on_progress)
    if "=" in text and not Path(text).exists():
        from benchmarker.results.filters import parse_filters

        return _sound(text, *_read(results, parse_filters(_words(text)), on_progress), on_progress)
    return _of_record(text, results, on_progress)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"filters must be KEY=VALUE words as in a shell, got '{text}' ({error})") from None


def _read(
    folder: str | os.PathLike[str], filters: Mapping[str, Any], on_progress: OnProgress
) -> tuple[Sequence[Record], list[str]]:
    found = collect(folder, filters, on_progress)
    return found, [f"left out: {path}: {reason}" for path, reason in found.damaged.items()]


def _sound(name: str, records: Sequence[Record], notes: list[str], on_progress: OnProgress) -> Side:
    kept: dict[str, Record] = {}
    for done, record in enumerate(records):
        if on_progress:
            on_progress(done, len(records))
        if type(value_at(record, _MEMORY)) not in (int, type(None)):
            notes.append(f"left out, not a valid record: {record['id']} ({_MEMORY})")
        else:
            kept.setdefault(record["id"], record)  # copies in several folders are one
    if not kept:
        raise UsageError(f"each side of a comparison must have records, there are none for '{name}'")
    return Side(name, tuple(kept.values()), tuple(notes))


def _of_revision(text: str, results: str | os.PathLike[str], on_progress: OnProgress) -> Side:
    commit = commit_of(text.removeprefix(REVISION))
    records, notes = _read(results, {f"{_CHECKOUT}.commit": commit}, on_progress)
    clean, changed = [], 0
    for record in records:
        if value_at(record, f"{_CHECKOUT}.dirty") is False:
            clean.append(record)
        else:
            changed += 1
    if changed:
        notes.append(f"left out of '{text}', since the checkout had changes: {changed} records")
    if not clean:
        raise UsageError(
            f"'{text}' is commit {commit[:12]}, of which there are no records in '{os.fspath(results)}' "
            f"({changed} of a checkout with changes); make them in a checkout of it"
        )
    return _sound(text, clean, notes, on_progress)


def _of_record(text: str, results: str | os.PathLike[str], on_progress: OnProgress) -> Side:
    from benchmarker.results.naming import find_record

    path = find_record(text, Path(results), on_progress)
    found, notes = _read(path, {}, on_progress)
    if not found:
        raise UsageError(f"'{path}' is not a record: {'; '.join(notes)}")
    record = found[0]
    if not record["replication"]:
        return _sound(text, [record], notes, on_progress)
    beside, more = _read(path.parent, {}, on_progress)
    return _sound(text, processes_of(record, beside) or [record], notes + more, on_progress)
