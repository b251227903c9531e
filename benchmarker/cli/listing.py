"""Show all plug-ins, where each comes from and whether it can run here; or the operators that problems consist of."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, TypeVar

from benchmarker import registry
from benchmarker.analysis.text.plugins import PluginRow, plugin_tables
from benchmarker.cli.counter import taking
from benchmarker.cli.terminal import output_width, print_json, print_text, tell
from benchmarker.errors import PluginError, UsageError

if TYPE_CHECKING:
    from benchmarker.api.framework import FrameworkPlugin

_Loaded = TypeVar("_Loaded")
OPERATORS = "operators"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``list``."""
    kinds = f"{', '.join(registry.KINDS)} (default: all of these), or {OPERATORS}, the vocabulary of problems"
    choices = (*registry.KINDS, OPERATORS)
    parser.add_argument("kind", nargs="?", choices=choices, metavar="KIND", help=kinds)
    parser.add_argument(
        "--matrix", action="store_true", help="show problems by framework and mode, and what is missing"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _row(entry: registry.PluginEntry) -> PluginRow:
    row = PluginRow(entry.kind, entry.name, entry.origin, usable=True)
    try:
        return _looked_at(entry, row)
    except UsageError as error:  # a broken plugin, or defaults of a problem that are impossible
        return replace(row, usable=False, note=str(error))


def _rows(entry: registry.PluginEntry) -> list[PluginRow]:
    """Return the row of a plugin; of one with suites a row for each of them."""
    if entry.kind != "suites":
        return [_row(entry)]
    from benchmarker.experiment.descriptions import suites

    try:
        found = suites(entry)
    except UsageError as error:
        return [PluginRow(entry.kind, entry.name, entry.origin, usable=False, note=str(error))]
    row = PluginRow(entry.kind, entry.name, entry.origin, usable=True)
    return [replace(row, **suite._asdict()) for suite in found]


def _looked_at(entry: registry.PluginEntry, row: PluginRow) -> PluginRow:
    registry.find(entry.kind, entry.name)
    if entry.kind == "frameworks":
        from benchmarker.execution.environments import availability

        available = availability(registry.framework(entry.name))
        note = available.where if available.ready else available.reason
        return replace(row, usable=available.ready, note=note)
    if entry.kind == "problems":
        from benchmarker.experiment.catalogue import problem_facts

        return replace(row, facts=problem_facts(entry))
    if entry.kind in registry.DESCRIBED_KINDS:
        from benchmarker.experiment.descriptions import description

        text, source = description(entry)
        return replace(row, description=text, source=source)
    if entry.is_ours:
        return row  # whether they load does not depend on the machine, and would take longest to find out
    if entry.kind == "launchers":
        registry.launcher(entry.name)
    else:
        registry.load(entry)
    return row


def main(arguments: argparse.Namespace) -> int:
    if arguments.matrix:
        return _matrix(arguments)
    if arguments.kind == OPERATORS:
        return _operators(arguments)
    chosen = (entry for entry in registry.entries() if arguments.kind in (None, entry.kind))
    rows = [row for entry in chosen for row in _rows(entry)]
    if arguments.json:
        print_json([row.to_json() for row in rows])
    else:
        print_text(plugin_tables(rows, output_width()))
    return 0


def _operators(arguments: argparse.Namespace) -> int:
    from benchmarker.analysis.text.vocabulary import operator_lines, operator_rows

    if arguments.json:
        rows = [{"signature": row.signature, **asdict(row)} for row in operator_rows()]
        print_json(rows)
    else:
        print("\n".join(operator_lines(output_width())).rstrip())
    return 0


def _matrix(arguments: argparse.Namespace) -> int:
    from benchmarker.analysis.text.plugins import matrix_table
    from benchmarker.experiment.catalogue import Support, framework_class, support

    if arguments.kind not in (None, "problems"):
        raise UsageError(f"--matrix shows problems by framework, not {arguments.kind}")

    def whole(name: str) -> FrameworkPlugin:
        plugin = registry.framework(name)
        framework_class(plugin)
        return plugin

    plugins = [plugin for name in registry.names("frameworks") if (plugin := _working(whole, name))]
    rows: list[list[Support]] = []
    problems = registry.names("problems")
    for name in taking(problems, len(problems), "problems looked at", quiet=arguments.json):
        row = _working(lambda problem: support(problem, plugins), name)
        if row:
            rows.append(row)
    if arguments.json:
        print_json([asdict(cell) for row in rows for cell in row])
    else:
        print_text(matrix_table(rows, output_width()))
    return 0


def _working(load: Callable[[str], _Loaded], name: str) -> _Loaded | None:
    """Return what is loaded, or None for a broken plugin, which the list itself reports."""
    try:
        return load(name)
    except PluginError as error:
        tell(str(error))
    except UsageError as error:  # defaults of a problem that are impossible
        tell(f"problem '{name}': {error}")
    return None
