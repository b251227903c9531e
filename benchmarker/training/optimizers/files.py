"""A Python file as an optimizer: it defines ``benchmarker_optimizer()``, which returns its rule."""

from __future__ import annotations

from pathlib import Path
from typing import Tuple

from benchmarker.api.update_rule import UpdateRule
from benchmarker.errors import UsageError
from benchmarker.problems.files import made_value
from benchmarker.problems.python_file import described_by, file_digest

_MAKER = f"{__name__}:python_rule"


def entry_of(path: Path) -> Tuple[str, str, str]:
    """Return value, origin and version of the entry of a file.

    Raises
    ------
    UsageError
        If there is no such file.
    """
    path = path.expanduser().absolute()
    if not path.is_file():
        raise UsageError(f"an optimizer that ends in .py must be a file that is there, got '{path.name}'")
    digest = file_digest(path)
    return made_value(_MAKER, str(path), digest), "Python file", f"sha256:{digest}"


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
    named = type(
        type(described).__name__, (type(described),), {"name": path.name, "digest": f"sha256:{digest}"}
    )
    rule: UpdateRule = named(**vars(described))
    return rule
