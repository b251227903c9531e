"""Which record is meant by a name, and in which order records stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarker.analysis.results.collection import Results, collect
from benchmarker.analysis.results.columns import STANDS_FOR
from benchmarker.errors import UsageError, did_you_mean
from benchmarker.records.files import OnProgress
from benchmarker.records.lookup import Record, value_at
from benchmarker.records.remote.addresses import is_address, without_password
from benchmarker.records.schema import load_schema

LAST = "last"
_OF_IDENTIFIERS = re.compile(r"[A-Za-z0-9._-]+")


OnDamaged = Callable[[Mapping[Path, str]], None]
"""Is told which files of a folder are no records, and why."""


def find_record(
    name: str,
    results: Path,
    on_progress: OnProgress | None = None,
    on_damaged: OnDamaged = lambda files: None,
) -> Path:
    """Return the file of the one record that a name fits.

    Parameters
    ----------
    name : str
        A record's file, or in the folder its name with or without ending, the beginning or end of its name
        or identifier, or ``last`` for the newest.
    results : Path
        The folder to look in, and in those below it.
    on_progress : callable or None
        Called with the number of records that are read and of those that must be.
    on_damaged : callable
        Called with the files of the folder that are left out, where it is looked into.

    Raises
    ------
    UsageError
        If it is a folder, or fits no record or several.
    """
    path = Path(name)
    if is_address(name):
        raise UsageError(
            "a record elsewhere is named by its name or id, with its folder's address as --results, got "
            f"'{without_password(name)}'"
        )
    if path.is_dir():
        raise UsageError(f"a record is one file, '{name}' is a folder; name the files in it")
    if path.exists() or path.name != name:
        return path
    matching = []
    if results.exists():
        known = collect(results, {}, on_progress)
        on_damaged(known.damaged)
        matching = _matching(name, known)
    if len(matching) == 1:
        return matching[0]
    several = f"{len(matching)} records" if matching else "no record"
    raise UsageError(
        f"'{name}' is no file, and as a record's name or id, or the beginning or end of one, it fits {several} "
        f"in '{results}'; give a record's file, or more of its id and its folder as --results"
    )


def _matching(name: str, known: Results) -> list[Path]:
    if name == LAST:
        return [known.paths[index] for index in ordered(known)[:1]]
    named = [path for path in known.paths if name in (path.name, path.stem)]
    named = named or [path for path in known.paths if path.stem.startswith(name) or path.stem.endswith(name)]
    # What could not be in an identifier could mean something in a filter.
    if not _OF_IDENTIFIERS.fullmatch(name):
        return named
    identified = known.filter(id=[f"{name}*", f"*{name}"]).paths
    return list(dict.fromkeys([*named, *identified]))


def field_at(record: Record, name: str) -> Any:
    """Return the value at a dotted name; an object that has a name or a grade is told by it."""
    value = value_at(record, name)
    if isinstance(value, Mapping):
        return next((value[member] for member in STANDS_FOR if member in value), value)
    return value


def check_columns(names: list[str]) -> None:
    """Raise ``UsageError`` if a dotted name does not begin with a field of a record."""
    known = load_schema()["properties"]
    for name in names:
        first = name.partition(".")[0]
        if first not in known:
            raise UsageError(
                f"a column must be the dotted name of a field of a record, got '{name}'{did_you_mean(first, known)}"
            )


def ordered(results: Results, by: str = "started_at", *, falling: bool = True) -> list[int]:
    """Return the positions of records in the order of a field; those that lack it come last.

    Parameters
    ----------
    results : Results
        The records.
    by : str
        Dotted name of a field.
    falling : bool
        Whether the largest, or newest, comes first.
    """
    values = results.values(by)
    known = [index for index, value in enumerate(values) if value is not None]
    known.sort(key=lambda index: _key(values[index]), reverse=falling)
    return known + [index for index, value in enumerate(values) if value is None]


def _key(value: Any) -> tuple[bool, float, str]:
    """Return what sorts numbers by size, before texts by letters."""
    if isinstance(value, (bool, int, float)):
        return False, float(value), ""
    return True, 0.0, str(value)
