"""What is known of the objects that a copy has: a line for each, the last of a name counts, a damaged one does not."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarker.files import open_regular, read_regular, staged
from benchmarker.records.reading import parse_json
from benchmarker.records.remote.objects import State

_NAME = ".sent.jsonl"

Known = dict[str, State | None]
"""By name: the state of the object whose content the copy has; None for one that was sent and not seen listed yet."""


def load(folder: Path) -> Known:
    """Return what is known of a copy."""
    try:
        lines = read_regular(folder / _NAME).splitlines()
    except OSError:
        return {}
    known: Known = {}
    for line in lines:
        try:
            name, *state = parse_json(line)
            # What is no longer elsewhere is removed from the copy by these names.
            if is_record_name(name):
                known[name] = (int(state[0]), str(state[1])) if state else None
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return known


def is_record_name(name: str) -> bool:
    """Tell whether a name is one that a results folder would take for a record's, and leads nowhere else.

    Raises
    ------
    TypeError
        If it is no text.
    """
    parts = str.split(name, "/")
    hidden = any(part.startswith(".") or not part for part in parts)
    return name.endswith(".json") and not hidden and "\0" not in name


def add(folder: Path, names: Iterable[str]) -> None:
    """Note that objects were sent."""
    with os.fdopen(open_regular(folder / _NAME, add=True), "a", encoding="utf-8") as stream:
        stream.writelines(_line(name, None) for name in names)


def replace(folder: Path, known: Mapping[str, State | None]) -> None:
    """Note what is known of all."""
    with staged(folder / _NAME, replace=True, durable=False) as stream:
        stream.write("".join(_line(name, state) for name, state in known.items()).encode())


def _line(name: str, state: State | None) -> str:
    return json.dumps([name, *(state or ())]) + "\n"
