"""Reading the files of a data set, and saying which one is missing or damaged."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from pathlib import Path

from benchmarker.data.dataset import SourceFile
from benchmarker.errors import UsageError


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
    raise UsageError(f"'{folder}' must hold {' or '.join(names)}; it does not")


def read_bytes(path: Path, published_md5: str | None = None) -> tuple[bytes, SourceFile]:
    """Return a file's content, unpacked if its name ends in ``.gz``, and what it was.

    Raises
    ------
    UsageError
        If it cannot be read or unpacked.
    """
    try:
        raw = path.read_bytes()
        content = gzip.decompress(raw) if path.suffix == ".gz" else raw
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"'{path}' is damaged or cannot be read: {reason}") from None
    published = None
    if published_md5 is not None:
        published = hashlib.md5(raw, usedforsecurity=False).hexdigest() == published_md5
    return content, SourceFile(path.name, hashlib.sha256(raw).hexdigest(), published)
