"""A Python file as an optimizer: it defines ``benchmarker_optimizer()``, which returns its rule."""

from __future__ import annotations

from pathlib import Path
from typing import Tuple

from benchmarker.api.update_rule import UpdateRule
from benchmarker.problems.python_file import described_by, file_entry, named_after

_MAKER = f"{__name__}:python_rule"


def entry_of(path: Path) -> Tuple[str, str, str]:
    """Return value, origin and version of the entry of a file.

    Raises
    ------
    UsageError
        If there is no such file.
    """
    return file_entry(path, "an optimizer", _MAKER)


def python_rule(file: str, digest: str) -> UpdateRule:
    """Return the rule of a file, which has the file's name.

    Raises
    ------
    AttributeError
        If the file defines no ``benchmarker_optimizer()``.
    UsageError
        If its SHA-256, in hexadecimal, is not ``digest``: it has changed since its name was resolved.
    """
    path = Path(file)
    described: UpdateRule = described_by(path, digest, "optimizer", UpdateRule)
    return named_after(path, digest, described)
