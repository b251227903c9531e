"""The cache folder: entries by key, there whole or not at all, held while in use, the least recently used evicted.

All of it may be deleted at any time. An entry is a file or a folder; a name that begins with a dot is of one that
is being made. Processes keep out of each other's way with locks of the kernel (``flock``), which end with the
process that has them, however that ends. Workers use this module too: it needs the standard library alone.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from benchmarker.errors import UsageError
from benchmarker.files import open_regular, read_regular, remove, staged

LEFTOVER_SECONDS = 3600.0
"""A file that was being written so long ago has no writer any more."""
POLL_SECONDS = 0.05
_LOCKS = ".locks"
_TEMPORARY = "benchmarker-held-"
_NO_ENTRY = {errno.ENOENT, errno.EINVAL, errno.ELOOP, errno.ENXIO}
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP}

_held: dict[Path, int] = {}
"""Descriptors of the entries that this process uses."""


def home() -> Path:
    """Return the cache folder: ``BENCHMARKER_HOME``, else the platform's cache folder for applications."""
    chosen = os.environ.get("BENCHMARKER_HOME")
    default = "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
    given = chosen or os.environ.get("XDG_CACHE_HOME", "").strip() or default
    try:
        folder = Path(given).expanduser()
    except RuntimeError:  # no such user, or one without a home, as in some containers
        raise UsageError(
            f"the cache folder must be one that is known, got '{given}', which is below a home that is not; choose "
            "another with BENCHMARKER_HOME"
        ) from None
    return folder.absolute() if chosen else folder / "benchmarker"


def key(value: object, length: int = 16) -> str:
    """Return hexadecimal digits that differ wherever JSON values do, regardless of the order of their keys."""
    import hashlib

    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:length]


@contextlib.contextmanager
def explain_unwritable(folder: Path, contents: str, otherwise: str = "") -> Iterator[None]:
    """Turn an ``OSError`` of the block into a sentence that says where ``contents`` are kept, and the way out.

    Raises
    ------
    UsageError
        Instead of the ``OSError``.
    """
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"{contents} are kept in a folder that can be written, got '{folder}' ({error.strerror}); "
            f"choose another with BENCHMARKER_HOME{otherwise}"
        ) from None


# --- publish -------------------------------------------------------------------------------------


@contextlib.contextmanager
def staged_file(target: Path) -> Iterator[BinaryIO]:
    """Give a stream whose content takes the place of ``target`` when the block ends well, and goes otherwise."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with staged(target, replace=True, durable=False) as stream:
        yield stream


def store_json(target: Path, value: object) -> None:
    """Write JSON values in the place of older ones."""
    with staged_file(target) as stream:
        stream.write(json.dumps(value, indent=2).encode() + b"\n")


def load_json(path: Path) -> Any:
    """Return the JSON values of an entry; None if it is not there or damaged."""
    try:
        return json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):
        return None


@contextlib.contextmanager
def staged_folder(target: Path) -> Iterator[Path]:
    """Give a new folder to fill, which is removed at the end of the block unless it was published.

    Parameters
    ----------
    target : Path
        What it is to become, or the name of another entry beside that.
    """

    def make() -> Path:
        folder = _aside(target)
        folder.mkdir(parents=True)
        return folder

    with _held_folder(make) as folder:
        yield folder


@contextlib.contextmanager
def _held_folder(make: Callable[[], Path]) -> Iterator[Path]:
    """Give a new folder, locked so that it does not pass for a leftover, and remove it at the end of the block."""
    while True:
        folder = make()
        descriptor = _locked(folder, shared=True)
        if descriptor is not None:
            break
    try:
        yield folder
    finally:
        _remove_tree(folder)
        os.close(descriptor)


def publish_folder(folder: Path, target: Path) -> None:
    """Give a filled folder its name; another process that was quicker does no harm."""
    try:
        folder.rename(target)
    except OSError:
        if not target.is_dir():
            raise


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a folder among the system's temporary ones, and remove those of processes that were killed.

    Raises
    ------
    OSError
        If none can be made.
    """
    import tempfile

    parent = Path(tempfile.gettempdir())
    _remove_temporary(parent)
    with _held_folder(lambda: Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=parent))) as folder:
        yield folder


def _remove_temporary(parent: Path) -> None:
    """Remove the temporary folders whose makers were killed: the kernel has taken their locks from them."""
    for folder in parent.glob(f"{_TEMPORARY}*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid != os.getuid() or folder.is_symlink():
                continue
            descriptor = _locked(folder, shared=False)
            if descriptor is not None:
                _remove_tree(folder)
                os.close(descriptor)


# --- hold ----------------------------------------------------------------------------------------


def hold(entry: Path) -> bool:
    """Keep an entry from being evicted as long as this process lives; False if it is not there.

    It counts as used now. A worker needs no hold of its own: the process that started it outlives it.
    """
    if entry not in _held or not _is_same(entry, _held[entry]):
        release(entry)
        descriptor = _locked(entry, shared=True)
        if descriptor is None:
            return False
        _held[entry] = descriptor
    with contextlib.suppress(OSError):  # of another user, or in a folder that can only be read
        os.utime(entry)
    return True


def release(entry: Path) -> None:
    """Let other processes evict an entry again."""
    descriptor = _held.pop(entry, None)
    if descriptor is not None:
        os.close(descriptor)


@contextlib.contextmanager
def lock(target: Path, waiting: Callable[[], object], patience: float) -> Iterator[None]:
    """Let one process at a time make or remove an entry.

    Parameters
    ----------
    target : Path
        The entry.
    waiting : callable
        Called when another process has the lock, and every ``patience`` seconds from then on.
    """
    path = target.parent / _LOCKS / f"{target.name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        last_call = float("-inf")
        while _flock(descriptor, shared=False) is False:
            if time.monotonic() - last_call >= patience:
                waiting()
                last_call = time.monotonic()
            time.sleep(POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _locked(entry: Path, *, shared: bool) -> int | None:
    """Return a descriptor that has the lock of an entry.

    It is None if that is gone or cannot be an entry, such as a pipe, or if another process is in the way.
    """
    try:
        descriptor = os.open(entry, os.O_RDONLY) if entry.is_dir() else open_regular(entry)
    except OSError as error:
        if error.errno in _NO_ENTRY:
            return None
        raise
    had = _flock(descriptor, shared=shared)
    # Without locks, what may be in use is never evicted.
    if (had or (had is None and shared)) and _is_same(entry, descriptor):
        return descriptor
    os.close(descriptor)
    return None


def _flock(descriptor: int, *, shared: bool) -> bool | None:
    """Return whether the lock was had; None on a file system without locks.

    A shared one is waited for, as nobody has the other kind for long.
    """
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return None
        raise
    return True


def _is_same(entry: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(entry.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


# --- evict ---------------------------------------------------------------------------------------


def evict(
    folder: Path, pattern: str = "*", *, max_bytes: int | None = None, max_entries: int | None = None
) -> None:
    """Remove the least recently used entries beyond a limit, unless some process holds them, and leftovers.

    Parameters
    ----------
    folder : Path
        Holds the entries.
    pattern : str
        Of their names; others remain.
    max_bytes, max_entries : int, optional
        Limits on their size together, and on their number.
    """
    remove_leftovers(folder)
    total = 0
    for count, entry in enumerate(_latest_first(folder, pattern), 1):
        total += size_of(entry) if max_bytes is not None else 0
        if (max_bytes is not None and total > max_bytes) or (max_entries is not None and count > max_entries):
            with contextlib.suppress(OSError):  # of another user
                discard(entry)


def remove_leftovers(folder: Path) -> None:
    """Remove what was being made when its maker was killed."""
    for entry in folder.glob(".*"):
        with contextlib.suppress(OSError):
            is_old = entry.stat().st_mtime < time.time() - LEFTOVER_SECONDS
            # A folder's maker holds it; a file is written in a moment.
            if entry.name != _LOCKS and (is_old or entry.is_dir()):
                discard(entry)


def discard(entry: Path) -> bool:
    """Remove an entry unless some process holds it; return whether it is gone."""
    descriptor = _locked(entry, shared=False)
    if descriptor is None:
        return not os.path.lexists(entry)
    try:
        if entry.is_dir():
            # Moved out of the way first, so that a kill leaves no half of it in use.
            aside = entry.rename(_aside(entry))
            _remove_tree(aside)
        else:
            remove(entry)
    finally:
        os.close(descriptor)
    return True


def size_of(entry: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    files = [entry]
    if entry.is_dir():
        files = [Path(parent, name) for parent, _, names in os.walk(entry) for name in names]
    total = 0
    for file in files:
        # Another process may remove it at the same time.
        with contextlib.suppress(OSError):
            total += file.lstat().st_size
    return total


def _latest_first(folder: Path, pattern: str) -> list[Path]:
    found = []
    for entry in folder.glob(pattern):
        with contextlib.suppress(OSError):
            if not entry.name.startswith("."):
                found.append((entry.stat().st_mtime_ns, entry))
    return [entry for _, entry in sorted(found, reverse=True)]


def _remove_tree(folder: Path) -> None:
    import shutil  # takes the compression of its archives with it

    shutil.rmtree(folder, ignore_errors=True)


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name.lstrip('.')}.{os.urandom(8).hex()}")
