"""Merge the results folders of several machines: every record once, none over another."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarker.analysis.results.scanning import Found, find_records
from benchmarker.errors import StoreError, UsageError, printable
from benchmarker.files import publish_with, remove
from benchmarker.records.attachments import named_by, naming, trace_name
from benchmarker.records.files import OnProgress
from benchmarker.records.reading import DamagedError, parse_record, read_bytes
from benchmarker.records.schema import Record
from benchmarker.records.store import add_record, read_record


@dataclass
class Merge:
    """What a merge will do, found before anything is written.

    Attributes
    ----------
    into : Path
        The folder that takes the records.
    new : dict of Path to Path
        The folder below ``into`` for each file that will be added.
    known : list of Path
        Files whose record is in ``into``, or comes from another file, already.
    damaged : dict of Path to str
        Files that cannot be read, and why; they are left.
    """

    into: Path
    new: dict[Path, Path] = field(default_factory=dict)
    known: list[Path] = field(default_factory=list)
    damaged: dict[Path, str] = field(default_factory=dict)


def plan_merge(
    sources: Sequence[Path], into: Path, on_progress: OnProgress = lambda done, total: None
) -> Merge:
    """Return what merging folders into one will do.

    Parameters
    ----------
    sources : sequence of Path
        Folders of records, or single records; nothing in them is changed.
    into : Path
        The folder that takes them, which need not exist. It keeps their subfolders.
    on_progress : callable
        Called with how many files were read, of how many.

    Raises
    ------
    UsageError
        If a source does not exist, or two records have one identifier but differ.
    """
    merge = Merge(into)
    found = find_records([*sources, into] if into.exists() else sources)
    folders, there = list(zip(sources, found)), found[len(sources) :]
    files = _files(folders, there)
    known: dict[str, tuple[Path, str]] = {}
    for source, file in _counted(files, on_progress):
        try:
            record = parse_record(read_bytes(file, follow=True))
        except DamagedError as error:
            merge.damaged[file] = str(error)
            continue
        identifier, content = str(record.get("id")), _content(record)
        first, same = known.setdefault(identifier, (file, content))
        if same != content:
            raise UsageError(
                f"an id must belong to one record, but '{first}' and '{file}' are different records with id "
                f"'{printable(identifier)}'; remove one of them"
            )
        if first is not file:
            merge.known.append(file)
        elif source is not None:
            merge.new[file] = _place(source, file, into)
    for _, held in folders:
        merge.damaged.update(held.damaged)
    return merge


def _files(folders: Iterable[tuple[Path, Found]], there: Iterable[Found]) -> list[tuple[Path | None, Path]]:
    """Return each file with the source it comes from; those that are there already first, without one."""
    ours: list[tuple[Path | None, Path]] = [(None, Path(file)) for held in there for file in held.paths]
    return ours + [(source, Path(file)) for source, held in folders for file in held.paths]


def _counted(
    files: Sequence[tuple[Path | None, Path]], on_progress: OnProgress
) -> Iterator[tuple[Path | None, Path]]:
    for index, found in enumerate(files):
        on_progress(index, len(files))
        yield found
    on_progress(len(files), len(files))


def _content(record: Mapping[str, object]) -> str:
    """Return a digest of what makes a record itself; names of files beside it change with its own."""
    text = json.dumps(naming(record, "", {}), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _place(source: Path, file: Path, into: Path) -> Path:
    return into / file.relative_to(source).parent if source.is_dir() else into


def carry_out(merge: Merge, on_progress: OnProgress = lambda done, total: None) -> dict[Path, Path]:
    """Add the new records of a merge, each with its log and its trace; return where each went.

    A name that is taken by another record gets an addition.

    Raises
    ------
    StoreError
        If one cannot be read or written; then none of those added remain.
    """
    added: dict[Path, Path] = {}
    try:
        for index, (file, folder) in enumerate(merge.new.items()):
            record = read_record(file)
            added[file] = _add(file, record, folder)
            on_progress(index + 1, len(merge.new))
        if added and hasattr(os, "sync"):
            os.sync()  # once for all: waiting for the disk after each takes most of the time
    except BaseException as error:
        for copy in added.values():
            _take_back(copy)
        if isinstance(error, OSError):
            raise StoreError(
                f"the records could not be merged into '{merge.into}': {error.strerror}"
            ) from error
        raise
    return added


def _take_back(copy: Path) -> None:
    # A text of that name may have been there before a record that has no log.
    files = named_by(copy, read_record(copy))
    remove(copy)
    for file in files.values():
        remove(file)


def _add(file: Path, record: Record, folder: Path) -> Path:
    """Add a record under its name, byte by byte; where that cannot be, written anew with its files' new names."""
    files = {ending: path.read_bytes() for ending, path in named_by(file, record).items()}
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / file.name
    named = naming(record, file.stem, files)
    is_right = record.get("log") == named["log"] and trace_name(record) == trace_name(named)
    if is_right and _is_copied(file, copy, files):
        return copy
    return add_record(folder, file.stem, record, files, durable=False)


def _is_copied(file: Path, copy: Path, files: Mapping[str, bytes]) -> bool:
    copies = {copy.with_suffix(ending): data for ending, data in files.items()}
    return publish_with(copy, file.read_bytes(), copies, durable=False)
