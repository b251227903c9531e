"""Show frameworks, problems, collectors and launchers: where each comes from and whether it can run here."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass

from benchmarker import registry
from benchmarker.errors import PluginError


@dataclass(frozen=True)
class Row:
    """One plugin of the list."""

    kind: str
    name: str
    origin: str
    usable: bool
    note: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``list``."""
    parser.add_argument("kind", nargs="?", choices=registry.KINDS, help="default: all of them")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _row(entry: registry.PluginEntry) -> Row:
    try:
        usable, note = _usable(entry)
    except PluginError as error:
        usable, note = False, str(error)
    return Row(entry.kind, entry.name, entry.origin, usable, note)


def _usable(entry: registry.PluginEntry) -> tuple[bool, str]:
    registry.find(entry.kind, entry.name)
    if entry.kind == "frameworks":
        from benchmarker.environments import availability

        available = availability(registry.framework(entry.name))
        return available.ready, available.where if available.ready else available.reason
    if entry.kind == "problems":
        return True, registry.problem(entry.name).task
    if entry.kind == "launchers":
        registry.launcher(entry.name)
    else:
        registry.load(entry)
    return True, ""


def main(arguments: argparse.Namespace) -> int:
    """Print the list."""
    rows = [_row(entry) for entry in registry.entries() if arguments.kind in (None, entry.kind)]
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
        return 0
    names = max((len(row.name) for row in rows), default=0)
    origins = max((len(row.origin) for row in rows), default=0)
    for kind in dict.fromkeys(row.kind for row in rows):
        if arguments.kind is None:
            print(f"{kind}:")
        for row in (row for row in rows if row.kind == kind):
            ready = "ready" if row.usable else "cannot run"
            print(f"  {row.name:<{names}}  {row.origin:<{origins}}  {ready:<10}  {row.note}".rstrip())
    return 0
