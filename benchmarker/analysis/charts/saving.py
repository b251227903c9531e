"""Writes a picture to a file: whole or not at all, and never over another file unasked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchmarker.errors import StoreError, UsageError
from benchmarker.files import staged

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf")


def check_target(target: Path, *, force: bool) -> None:
    """Check that a picture can go to a file, before it is drawn.

    Raises
    ------
    UsageError
        On an ending that is no picture's, a folder that is not there, or a file that is and is not to be
        replaced.
    """
    if target.suffix.lower().removeprefix(".") not in FORMATS:
        endings = ", ".join(f".{name}" for name in FORMATS)
        raise UsageError(f"a picture's file must end in one of {endings}, got '{target}'")
    if not target.parent.is_dir():
        raise UsageError(f"a picture must go to a folder that exists, got '{target.parent}'")
    if target.is_dir() or (target.exists() and not force):
        raise UsageError(f"'{target}' exists; name another file with --output, or replace it with --force")


def save(picture: Figure, target: Path, *, force: bool = False) -> None:
    """Write a picture.

    Parameters
    ----------
    picture : Figure
        Of :func:`benchmarker.analysis.charts.draw`.
    target : Path
        Ends in ``.svg``, ``.png`` or ``.pdf``.
    force : bool
        Whether to replace a file.

    Raises
    ------
    UsageError
        As of :func:`check_target`.
    StoreError
        If it cannot be written; nothing is left behind.
    """
    from benchmarker.analysis.charts.drawing.figure import rendered

    check_target(target, force=force)
    content = rendered(picture, target.suffix.lower().removeprefix("."))
    try:
        with staged(target, replace=force) as stream:
            stream.write(content)
    except OSError as error:
        raise StoreError(
            f"the picture could not be written to '{target}': {error.strerror or error}"
        ) from error
