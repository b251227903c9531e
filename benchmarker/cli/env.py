"""``benchmarker env``: see, make and remove the managed environments."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarker.environments import Interpreter, ManagedEnvironment
    from benchmarker.framework import FrameworkPlugin

_MEGABYTE = 1e6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    shown = actions.add_parser("list", help="show the managed environments")
    made = actions.add_parser("create", help="make the managed environment of a framework now")
    made.add_argument("framework", metavar="FRAMEWORK[==VERSION]")
    removed = actions.add_parser("remove", help="remove managed environments")
    chosen = removed.add_mutually_exclusive_group(required=True)
    chosen.add_argument(
        "name", nargs="?", metavar="NAME", help="an environment, or a framework for all of its"
    )
    chosen.add_argument("--all", action="store_true", help="every managed environment")
    path = actions.add_parser("path", help="print the interpreter that a run with --env auto would use")
    path.add_argument("framework", metavar="FRAMEWORK[==VERSION]")
    for action in (made, path):
        action.add_argument("--cuda", action="store_true", help="for runs on a CUDA device")
    for action in (shown, made, removed, path):
        action.add_argument("--json", action="store_true", help="print JSON")


def main(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    commands = {"list": _list, "create": _create, "remove": _remove, "path": _path}
    return commands[arguments.action](arguments)


def _framework(text: str) -> tuple[FrameworkPlugin, str | None]:
    from benchmarker.experiment_faults import parse_framework

    return parse_framework(text)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=2))


def _list(arguments: argparse.Namespace) -> int:
    from benchmarker.environments import home, list_managed

    environments = list_managed()
    if arguments.json:
        _print_json([{**asdict(item), "python": item.python} for item in environments])
        return 0
    if not environments:
        print(f"no managed environments in {home()}")
        return 0
    _print_table(environments)
    return 0


def _print_table(environments: list[ManagedEnvironment]) -> None:
    rows = [("NAME", "FRAMEWORK", "PYTHON", "SIZE", "MADE (UTC)", "REQUIREMENTS", "PATH")]
    for item in environments:
        size = f"{item.size_bytes / _MEGABYTE:.0f} MB"
        made_at = item.made_at[:16].replace("T", " ")
        requirements = ", ".join(item.requirements)
        rows.append((item.name, item.framework, item.python_version, size, made_at, requirements, item.path))
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def _print_interpreter(interpreter: Interpreter, as_json: bool) -> None:
    if as_json:
        _print_json(asdict(interpreter))
    else:
        print(interpreter.path)


def _create(arguments: argparse.Namespace) -> int:
    from benchmarker.environments import resolve

    plugin, version = _framework(arguments.framework)
    made = resolve(plugin, choice="managed", version=version, cuda=arguments.cuda, progress=_tell)
    _print_interpreter(made, arguments.json)
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    from benchmarker.environments import remove_managed

    removed = remove_managed(None if arguments.all else [arguments.name])
    if arguments.json:
        _print_json(removed)
        return 0
    print("\n".join(f"removed {name}" for name in removed) or "there was nothing to remove")
    return 0


def _path(arguments: argparse.Namespace) -> int:
    from benchmarker.environments import locate

    plugin, version = _framework(arguments.framework)
    found = locate(plugin, version=version, cuda=arguments.cuda)
    if found is None:
        wanted = arguments.framework
        _tell(f"no interpreter for '{wanted}' yet; make one with 'python -m benchmarker env create {wanted}'")
        return 1
    _print_interpreter(found, arguments.json)
    return 0
