"""What earlier commands have kept in the cache folder: what is there may be damaged, or of another version."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from benchmarker.cache import load_json

_Kind = TypeVar("_Kind")


def load_as(path: Path, kind: type[_Kind]) -> _Kind | None:
    """Return the JSON values of an entry as a type, a dataclass for one; None if it is not there or something else."""
    # By msgspec, which most commands have loaded by then, or need not.
    from benchmarker.machine.typed_values import typed

    try:
        return typed(load_json(path), kind)
    except (ValueError, OverflowError, RecursionError):
        return None


def kept_in(folder: Path, kind: type[_Kind]) -> Iterator[_Kind]:
    """Yield what is kept in the files of a folder, in the order of their names; what is something else is left out."""
    for path in sorted(folder.glob("*.json")):
        found = load_as(path, kind)
        if found is not None:
            yield found


def is_amount(value: float) -> bool:
    """Tell whether a number is one that can have been measured: finite and above 0."""
    return 0.0 < value < math.inf
