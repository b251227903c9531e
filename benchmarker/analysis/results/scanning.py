"""A folder becomes a table: by reading every file, or by the index and those that are new to it."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from benchmarker.analysis.results.rows import Part, concatenate, read_part
from benchmarker.analysis.results.table import PlainTable, Table
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.files import File, OnProgress, find_files, names_in
from benchmarker.records.migration import newest
from benchmarker.records.reading import parse_record, read_bytes
from benchmarker.records.schema import Record

OnDamage = Callable[[Path, str], None]

FEW = 256
"""Files that are read at once, without an index and without help: that takes less time than starting it."""

PART = 256
"""Files whose records are in memory at once."""


@dataclass(frozen=True)
class Found:
    """Which files of a folder are records.

    Parameters
    ----------
    paths : sequence of str
        Files of the records, by name.
    damaged : dict of Path to str
        Files that are no records, and why.
    """

    paths: Sequence[str]
    damaged: dict[Path, str]


@dataclass(frozen=True)
class Scan(Found):
    """What a folder holds.

    Parameters
    ----------
    paths, damaged
        As :class:`Found` has them.
    table : Table
        A row for each record.
    """

    table: Table


def scan(path: str | os.PathLike[str], on_progress: OnProgress | None = None) -> Scan:
    """Return what a folder or file holds.

    Parameters
    ----------
    path : path
        The folder or file.
    on_progress : callable or None
        Called with the number of files that are read and of those that must be, when they are many.

    Raises
    ------
    UsageError
        If there is no such file or folder.
    """
    damaged: dict[Path, str] = {}

    def tell(file: Path, reason: str) -> None:
        damaged[file] = reason

    files = find_files(path, tell)
    if _is_indexed(files):
        paths, table = _look_up(Path(path), files, tell, on_progress)
    else:
        # The file that was named may be a link, those of a folder may not.
        paths, table = _read_all(files, tell, follow=not Path(path).is_dir())
    return Scan(paths, damaged, table)


def find_records(places: Sequence[Path]) -> list[Found]:
    """Return what each of some places holds; those of few files are read together, which takes a fraction of the time.

    Parameters
    ----------
    places : sequence of Path
        Folders or files.

    Raises
    ------
    UsageError
        If there is no such file or folder.
    """
    found: list[Found] = []
    for place in places:
        damaged: dict[Path, str] = {}
        files = find_files(place, damaged.__setitem__)
        found.append(scan(place) if _is_indexed(files) else Found([file.path for file in files], damaged))
    few = [path for held in found if not isinstance(held, Scan) for path in held.paths]
    named = {os.fspath(place) for place in places if not place.is_dir()}
    faults: dict[str, str] = {}
    for some, part in _parts(few, lambda path: read_bytes(path, follow=path in named)):
        faults.update((some[place], reason) for place, reason in part.damaged.items())
    return [_without(held, faults) for held in found]


def _without(held: Found, faults: Mapping[str, str]) -> Found:
    bad = {Path(path): faults[path] for path in held.paths if path in faults}
    return Found([path for path in held.paths if path not in faults], held.damaged | bad)


def read_files(paths: Sequence[Path]) -> Scan:
    """Return what these files hold, without an index."""
    damaged: dict[Path, str] = {}
    files = [file for path in paths for file in find_files(path, damaged.__setitem__)]
    found, table = _read_all(files, damaged.__setitem__, follow=True)
    return Scan(found, damaged, table)


def _is_indexed(files: Sequence[File]) -> bool:
    return len(files) > FEW and is_installed("pyarrow")


def is_installed(package: str) -> bool:
    """Tell whether a package can be imported."""
    try:
        return find_spec(package) is not None
    except ValueError:
        # There is None in sys.modules, which says that it must not be.
        return False


def _look_up(
    folder: Path, files: Sequence[File], tell: OnDamage, on_progress: OnProgress | None
) -> tuple[list[str], Table]:
    from benchmarker.analysis.results.arrow import ArrowTable
    from benchmarker.analysis.results.index import indexed

    index = indexed(folder, files, on_progress)
    paths = []
    for file, name in zip(files, names_in(folder, files)):
        if name in index.rows:
            paths.append(file.path)
        else:
            tell(Path(file.path), index.damaged[name][1])
    return paths, ArrowTable(index.table)


def _read_all(files: Sequence[File], tell: OnDamage, *, follow: bool) -> tuple[list[str], Table]:
    paths, parts = [], []
    for some, part in _parts([file.path for file in files], functools.partial(read_bytes, follow=follow)):
        parts.append(part)
        for place, path in enumerate(some):
            if place in part.damaged:
                tell(Path(path), part.damaged[place])
            else:
                paths.append(path)
    return paths, PlainTable.of(concatenate(parts), len(paths))


def _parts(paths: Sequence[str], read: Callable[[str], bytes]) -> Iterator[tuple[Sequence[str], Part]]:
    """Yield what so many files hold as are in memory at once, with their names."""
    for start in range(0, len(paths), PART):
        some = paths[start : start + PART]
        yield some, read_part(some, read)


def read_newest(path: str, *, follow: bool = False) -> Record:
    """Return the record of a file in the shape of the newest version.

    Raises
    ------
    DamagedError
        If there is none.
    """
    return newest(parse_record(read_bytes(path, follow=follow)))
