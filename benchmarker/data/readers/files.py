"""Reading the files of a data set, and saying which one is missing or damaged."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from benchmarker.api.dataset import SourceFile
from benchmarker.errors import UsageError
from benchmarker.files import read_regular

HEAD_BYTES = 1 << 16
MAX_UNPACKED_BYTES = 2 << 30
"""Of a file that is packed: a few megabytes can unpack to as much as fits on any disk."""


def data_folder(name: str, folder: Path | None, holds: str) -> Path:
    """Return the folder of the data set.

    Raises
    ------
    UsageError
        If none was given, or it is not there.
    """
    if folder is None:
        raise UsageError(
            f"data set '{name}' is read from files: give their folder, which holds {holds}, as --data-dir"
        )
    if not folder.is_dir():
        raise UsageError(f"--data-dir must be a folder with {holds}, got '{folder}'")
    return folder


def find_file(folder: Path, *names: str) -> Path:
    """Return the first of several spellings of a file that is there.

    Raises
    ------
    UsageError
        If none is.
    """
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise UsageError(f"'{folder}' must hold {' or '.join(names)}, but does not")


def read_bytes(
    path: Path,
    published_md5: str | None = None,
    *,
    stated: Callable[[bytes], int | None] = lambda head: None,
    most: int = MAX_UNPACKED_BYTES,
) -> tuple[bytes, SourceFile]:
    """Return a file's content, unpacked if its name ends in ``.gz``, and what it was.

    Parameters
    ----------
    path : Path
        The file.
    published_md5 : str or None
        The digest that it should have.
    stated : callable
        Returns how many bytes a file has by its beginning (of at most :data:`HEAD_BYTES`), or None if that does not
        say; unpacking ends one byte after them.
    most : int
        Bytes that an unpacked file may have whatever it says.

    Raises
    ------
    UsageError
        If it cannot be read or unpacked, or unpacks to more than it may.
    """
    try:
        raw = read_regular(path)
        content = _unpacked(path, raw, stated, most) if path.suffix == ".gz" else raw
    except (OSError, EOFError, MemoryError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or "there is not enough memory"
        raise UsageError(f"'{path}' is damaged or cannot be read: {reason}") from None
    published = None
    if published_md5 is not None:
        published = hashlib.md5(raw, usedforsecurity=False).hexdigest() == published_md5
    return content, SourceFile(path.name, hashlib.sha256(raw).hexdigest(), published)


def _unpacked(path: Path, raw: bytes, stated: Callable[[bytes], int | None], most: int) -> bytes:
    with gzip.GzipFile(fileobj=BytesIO(raw)) as stream:
        head = stream.read(HEAD_BYTES)
        size = stated(head)
        if (size or 0) > most:
            raise UsageError(
                f"'{path}' unpacks to {size} bytes, more than the {most} that are read; unpack it first"
            )
        limit = most if size is None else size
        content = head + stream.read(max(limit + 1 - len(head), 0))
    if len(content) > limit:
        says = f"more than the {limit} bytes that its header states" if size else f"more than {limit} bytes"
        raise UsageError(f"'{path}' is damaged: it unpacks to {says}")
    return content
