"""Files that are there whole or not at all, and never in the place of another by mistake."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

MAX_KEPT_NAME = 40
"""Characters of a file's name that are part of its temporary one."""

_OPENED = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)
_ADDED_TO = os.O_WRONLY | os.O_APPEND | os.O_CREAT
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_LINKS = {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK}


@contextlib.contextmanager
def staged(target: Path, *, replace: bool = False, durable: bool = True) -> Iterator[BinaryIO]:
    """Give a stream whose content gets the name ``target`` when the block ends well, and goes otherwise.

    Parameters
    ----------
    target : Path
        The file.
    replace : bool
        Whether it may take the place of a file of that name.
    durable : bool
        Whether it is on the disk at the end of the block; otherwise whoever writes many sees to that himself.

    Raises
    ------
    FileExistsError
        If the name is taken and ``replace`` is false.
    OSError
        If it cannot be written; nothing is left of it.
    """
    # Of a long name a part, since the whole may be as long as the file system allows.
    temporary = target.with_name(f".{target.name[:MAX_KEPT_NAME]}.{os.urandom(8).hex()}")
    try:
        with _new(temporary) as stream:
            yield stream
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        give_name(temporary, target, replace=replace)
    finally:
        remove(temporary)
    if durable:
        _sync_folder(target.parent)


def give_name(temporary: Path, target: Path, *, replace: bool = False) -> None:
    """Give a finished file its name, which takes the temporary one from it or leaves both.

    Raises
    ------
    FileExistsError
        If the name is taken and ``replace`` is false.
    """
    if replace:
        temporary.replace(target)
    else:
        _name_once(temporary, target)


def publish(target: Path, data: bytes, *, durable: bool = True) -> bool:
    """Write a whole new file; return whether its name was free. On an error nothing is left of it."""
    try:
        with staged(target, durable=durable) as stream:
            stream.write(data)
    except FileExistsError:
        return False
    return True


def publish_with(
    target: Path, data: bytes, attachments: Mapping[Path, bytes], *, durable: bool = True
) -> bool:
    """Write a new record and what lies beside it, or nothing; return whether all names were free."""
    # The record last: it never names a file that is not there.
    files = {**attachments, target: data}
    made: list[Path] = []
    try:
        for path, content in files.items():
            if not publish(path, content, durable=durable):
                break
            made.append(path)
    finally:
        if len(made) < len(files):
            for path in made:
                remove(path)
    return len(made) == len(files)


def open_regular(path: str | os.PathLike[str], *, follow: bool = True, add: bool = False) -> int:
    """Open a file and wait for nobody: what is no regular file, such as a pipe or a device, is refused.

    Parameters
    ----------
    path : path
        The file.
    follow : bool
        Whether it may be a symbolic link.
    add : bool
        To add to it, and make it if there is none; otherwise to read it.

    Returns
    -------
    int
        Its descriptor.

    Raises
    ------
    OSError
        If that cannot be done.
    """
    flags = _OPENED | (_ADDED_TO if add else 0) | (0 if follow else _NO_LINK)
    descriptor = os.open(path, flags, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "Not a file", os.fspath(path))
    return descriptor


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """Return what is in a file, as :func:`open_regular` opens it.

    Raises
    ------
    OSError
        If that cannot be done, or does not fit in memory.
    """
    try:
        with os.fdopen(open_regular(path), "rb") as stream:
            return stream.read()
    except MemoryError:
        raise OSError(errno.ENOMEM, "Too large", os.fspath(path)) from None


def remove(path: Path) -> None:
    """Remove a file if that can be done."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _new(path: Path) -> BinaryIO:
    # Mode 0o666 less the umask, as for any file the user makes; tempfile would make it private.
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb")


def _name_once(temporary: Path, target: Path) -> None:
    """Give a finished file its name; ``FileExistsError`` if the name is taken."""
    try:
        os.link(temporary, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A file system without hard links: whoever makes the empty file owns the name.
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        temporary.replace(target)


def _sync_folder(folder: Path) -> None:
    # Some file systems cannot do this; the file is there all the same.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal digits."""
    import hashlib  # which is slow to load, and most commands hash no file

    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
