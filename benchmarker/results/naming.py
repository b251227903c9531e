"""Which record is meant by a name: a file, the beginning or end of an identifier, or ``last``."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarker.errors import UsageError
from benchmarker.results.collection import Results, collect
from benchmarker.results.ordering import ordered
from benchmarker.results.scanning import OnProgress

LAST = "last"
_OF_IDENTIFIERS = re.compile(r"[A-Za-z0-9._-]+")


def find_record(name: str, results: Path, on_progress: OnProgress | None = None) -> Path:
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

    Raises
    ------
    UsageError
        If it is a folder, or fits no record or several.
    """
    path = Path(name)
    if path.is_dir():
        raise UsageError(f"a record is one file, '{name}' is a folder; name the files in it")
    if path.exists() or path.name != name:
        return path
    matching = _matching(name, collect(results, {}, on_progress)) if results.exists() else []
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
