"""What is known of the objects that a copy has: a line for each, the last of a name counts, and a torn one does not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarker.files import staged
from benchmarker.records.reading import parse_json
from benchmarker.records.remote.objects import State

_NAME = ".sent.jsonl"

Known = dict[str, State | None]
"""By name: the state of the object whose content the copy has; None for one that was sent and not seen listed yet."""


def load(folder: Path) -> Known:
    """Return what is known of a copy."""
    try:
        lines = (folder / _NAME).read_bytes().splitlines()
    except OSError:
        return {}
    known: Known = {}
    for line in lines:
        try:
            name, *state = parse_json(line)
            known[str(name)] = (int(state[0]), str(state[1])) if state else None
        except (ValueError, TypeError, IndexError):
            continue
    return known


def add(folder: Path, names: Iterable[str]) -> None:
    """Note that objects were sent."""
    with (folder / _NAME).open("a", encoding="utf-8") as stream:
        stream.writelines(_line(name, None) for name in names)


def replace(folder: Path, known: Mapping[str, State | None]) -> None:
    """Note what is known of all."""
    with staged(folder / _NAME, replace=True, durable=False) as stream:
        stream.write("".join(_line(name, state) for name, state in known.items()).encode())


def _line(name: str, state: State | None) -> str:
    return json.dumps([name, *(state or ())]) + "\n"
