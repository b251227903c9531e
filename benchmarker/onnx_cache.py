"""Unpacked models in the cache folder: in use while a process holds them, else removed by when they were used last."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
import uuid
from pathlib import Path

KEPT_BYTES = 8 << 30
"""Least recently used models beyond this are removed, unless a process uses them."""
_LEFTOVER_SECONDS = 24 * 3600
"""What was being made so long ago has no maker any more."""

_held: dict[Path, int] = {}
"""Descriptors of the folders that this process uses; the system closes them with the process, however it ends."""


def hold(folder: Path) -> bool:
    """Keep other processes from removing a folder as long as this one lives; False if it is not there.

    A run's worker needs no hold of its own: the process that started it outlives it.
    """
    if folder in _held and _is_same(folder, _held[folder]):
        os.utime(folder)
        return True
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    if not _is_same(folder, descriptor):  # removed before it was locked
        os.close(descriptor)
        return False
    if folder in _held:
        os.close(_held[folder])
    _held[folder] = descriptor
    os.utime(folder)
    return True


def _is_same(folder: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(folder.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def remove_least_recently_used(root: Path, limit: int = KEPT_BYTES) -> None:
    """Keep the unpacked models in ``root`` under ``limit`` bytes; those that some process uses remain in any case.

    Parameters
    ----------
    root : Path
        Holds a folder for each model; those whose name begins with a dot are being made.
    limit : int
        Bytes.
    """
    found = []
    for folder in root.glob("*/"):
        # Another process may remove it at the same time.
        with contextlib.suppress(FileNotFoundError):
            found.append((folder.stat().st_mtime, folder))
    total = 0
    for used, folder in sorted(found, reverse=True):
        if folder.name.startswith("."):
            if used < time.time() - _LEFTOVER_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
            continue
        total += _size(folder)
        if total > limit:
            _remove(folder)


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            total += path.lstat().st_size
    return total


def _remove(folder: Path) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_same(folder, descriptor):
            # Moved out of the way first, so that a kill leaves no half of it in use.
            aside = folder.rename(folder.with_name(f".{uuid.uuid4().hex}"))
            shutil.rmtree(aside, ignore_errors=True)
    except BlockingIOError:
        pass  # some process uses it
    finally:
        os.close(descriptor)
