"""A page becomes a file: whole or not at all, and never over another one unless that is wanted."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path

from benchmarker.errors import UsageError


def check_place(path: Path, *, force: bool) -> None:
    """Say before any work that a page cannot go to a path.

    Raises
    ------
    UsageError
        If there is a folder, or without ``force`` a file, or no folder to be in.
    """
    try:
        is_folder, exists, has_folder = path.is_dir(), path.exists(), path.absolute().parent.is_dir()
    except OSError as error:
        raise _cannot_be_written(path, error) from None
    if is_folder:
        raise UsageError(f"a page is written to a file, got the folder '{path}'")
    if exists and not force:
        raise UsageError(f"a page is not written over a file, and '{path}' exists: --force replaces it")
    if not has_folder:
        raise UsageError(f"a page goes to a folder that exists, got '{path}'")


def write_page(path: Path, html: str, *, force: bool) -> int:
    """Write a page and return its bytes.

    Raises
    ------
    UsageError
        If it cannot go there; nothing is left behind.
    """
    check_place(path, force=force)
    # A title from the command line may have bytes that are no UTF-8.
    data = html.encode("utf-8", "replace")
    temporary = path.with_name(f".{secrets.token_hex(8)}.html")
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
        temporary.replace(path)
    except OSError as error:
        raise _cannot_be_written(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return len(data)


def _cannot_be_written(path: Path, error: OSError) -> UsageError:
    return UsageError(f"a page must go where it can be written, got '{path}' ({error.strerror})")
