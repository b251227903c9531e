"""A Python file as a scheme: it defines ``benchmarker_scheme()``, which returns it."""

from __future__ import annotations

from pathlib import Path
from typing import Tuple

from benchmarker.api.scheme import Scheme
from benchmarker.problems.python_file import described_by, file_entry, named_after

_MAKER = f"{__name__}:python_scheme"


def entry_of(path: Path) -> Tuple[str, str, str]:
    """Return value, origin and version of the entry of a file.

    Raises
    ------
    UsageError
        If there is no such file.
    """
    return file_entry(path, "a scheme", _MAKER)


def python_scheme(file: str, digest: str) -> Scheme:
    """Return the scheme of a file, which has the file's name.

    Raises
    ------
    AttributeError
        If the file defines no ``benchmarker_scheme()``.
    UsageError
        If its SHA-256, in hexadecimal, is not ``digest``: it has changed since its name was resolved.
    """
    path = Path(file)
    described: Scheme = described_by(path, digest, "scheme", Scheme)
    return named_after(path, digest, described)
