"""Show frameworks, problems, collectors and launchers: where each comes from and whether it can run here."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TypeVar

from benchmarker import registry
from benchmarker.errors import PluginError, UsageError

_Loaded = TypeVar("_Loaded")


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
    parser.add_argument(
        "--matrix", action="store_true", help="problems by framework and mode, and what is missing"
    )
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
        from benchmarker.catalogue import problem_facts
        from benchmarker.report.catalogue import size_and_cost

        return True, size_and_cost(problem_facts(entry))
    if entry.kind == "launchers":
        registry.launcher(entry.name)
    else:
        registry.load(entry)
    return True, ""


def main(arguments: argparse.Namespace) -> int:
    """Print the list."""
    if arguments.matrix:
        return _matrix(arguments)
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


def _matrix(arguments: argparse.Namespace) -> int:
    from benchmarker.catalogue import Support, names, support
    from benchmarker.report.catalogue import matrix_table

    if arguments.kind not in (None, "problems"):
        raise UsageError(f"--matrix is of problems by framework, not of {arguments.kind}")
    plugins = [plugin for name in names("frameworks") if (plugin := _working(registry.framework, name))]
    rows: list[list[Support]] = []
    for name in names("problems"):
        if sys.stderr.isatty() and not arguments.json:
            print(f"\r\x1b[K{name}", end="", file=sys.stderr, flush=True)
        row = _working(lambda problem: support(problem, plugins), name)
        if row:
            rows.append(row)
    if sys.stderr.isatty() and not arguments.json:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if arguments.json:
        print(json.dumps([asdict(cell) for row in rows for cell in row], indent=2))
    else:
        print(matrix_table(rows, shutil.get_terminal_size().columns))
    return 0


def _working(load: Callable[[str], _Loaded], name: str) -> _Loaded | None:
    """Return what is loaded, or None for a broken plugin, which the list itself reports."""
    try:
        return load(name)
    except PluginError as error:
        print(f"benchmarker: {error}", file=sys.stderr)
        return None
