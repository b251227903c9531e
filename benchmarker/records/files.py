"""Which files of a folder are records, by their names alone. Nothing is followed out of the folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarker.errors import UsageError
from benchmarker.records import places

_HERE = os.curdir + os.sep
State = tuple[int, int, int, int]
OnProgress = Callable[[int, int], None]
"""Called with the number of files that are read and of those that must be."""
LINK = "is a symbolic link, and those are not followed"


class File(NamedTuple):
    """A file as its folder tells of it.

    Parameters
    ----------
    path : str
        As the user would name it.
    state : tuple of int
        Size in bytes, when its content and when anything of it was changed last (nanoseconds), inode: as long as
        these are the same, so is what can be read from it.
    """

    path: str
    state: State


def name_in(path: Path, folder: Path) -> str:
    """Return a file as it is found in the folder: where the folder lies is nobody's business."""
    return str(path.relative_to(folder)) if path.is_relative_to(folder) and path != folder else path.name


def find_files(path: str | os.PathLike[str], on_damage: Callable[[Path, str], None]) -> list[File]:
    """Return the record files of a folder and the folders below it, by name; or the file that was named.

    Hidden files are left out. What is named like a record and is none (a link, a folder) is told.

    Parameters
    ----------
    path : path
        A folder, or one file; it may be a symbolic link, what is inside the folder may not.
    on_damage : callable
        Called with a path and what is wrong there.

    Raises
    ------
    UsageError
        If there is no such file or folder.
    StoreError
        If it is the copy of a place elsewhere that cannot be reached.
    """
    places.refresh(path)
    top = Path(path)
    if top.is_dir():
        found = list(_below(str(top), on_damage))
        return sorted(found, key=_parts)
    try:
        return [File(str(top), _state(top.stat()))]
    except OSError:
        raise UsageError(f"records are read from a file or a folder that exists, got '{path}'") from None


def _parts(file: File) -> list[str]:
    # Names of folders in the order of Path, which is slow to make for each file.
    return file.path.split(os.sep)  # noqa: PTH206


def _below(folder: str, on_damage: Callable[[Path, str], None]) -> Iterator[File]:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    is_named = entry.name.endswith(".json")
                    if entry.is_symlink():
                        if is_named or entry.is_dir():
                            on_damage(Path(entry.path), LINK)
                    elif entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                        if is_named:
                            on_damage(Path(entry.path), "is a folder")
                    elif is_named:
                        yield from _file(entry, on_damage)
        except OSError as error:
            on_damage(Path(here), f"cannot be read: {error.strerror}")


def _file(entry: os.DirEntry[str], on_damage: Callable[[Path, str], None]) -> Iterator[File]:
    try:
        # Below the current folder, names are as Path has them.
        yield File(entry.path.removeprefix(_HERE), _state(entry.stat(follow_symlinks=False)))
    except OSError as error:
        on_damage(Path(entry.path), f"cannot be read: {error.strerror}")


def _state(found: os.stat_result) -> State:
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def names_in(folder: Path, files: Sequence[File]) -> list[str]:
    top = str(folder)
    skipped = 0 if top == os.curdir else len(top)
    return [file.path[skipped:].lstrip(os.sep) for file in files]
