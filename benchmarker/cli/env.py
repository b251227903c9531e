"""List, create, check and remove the managed environments of frameworks."""

from __future__ import annotations

import argparse
import itertools
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarker.cli.run_options import add_permission, names, permit
from benchmarker.cli.terminal import notes, output_width, print_json, print_text, tell
from benchmarker.errors import EnvironmentCreationError, printable

if TYPE_CHECKING:
    from benchmarker.api.framework import FrameworkPlugin
    from benchmarker.execution.environments import Interpreter, ManagedEnvironment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    shown = actions.add_parser("list", help="list the managed environments")
    made = actions.add_parser("create", help="create the managed environments of frameworks now")
    made.add_argument("frameworks", nargs="+", type=names, metavar="FRAMEWORK[==VERSION],...")
    made.add_argument("--quiet", action="store_true", help="hide the installer's output")
    add_permission(made)
    checked = actions.add_parser("check", help="compare every file with what was installed")
    checked.add_argument(
        "names", nargs="*", metavar="NAME", help="environments, or frameworks for all of theirs; default: all"
    )
    removed = actions.add_parser("remove", help="remove managed environments")
    chosen = removed.add_mutually_exclusive_group(required=True)
    chosen.add_argument(
        "name", nargs="?", metavar="NAME", help="an environment, or a framework for all of its environments"
    )
    chosen.add_argument("--all", action="store_true", help="every managed environment")
    path = actions.add_parser("path", help="print the interpreter that a run with --env auto would use")
    path.add_argument("framework", metavar="FRAMEWORK[==VERSION]")
    for action in (made, path):
        action.add_argument("--cuda", action="store_true", help="for runs on a CUDA device")
        action.add_argument("--ranks", action="store_true", help="for runs of several ranks, with MPI")
    for action in (shown, made, checked, removed, path):
        action.add_argument("--json", action="store_true", help="print JSON")


def main(arguments: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    commands = {"list": _list, "create": _create, "check": _check, "remove": _remove, "path": _path}
    return commands[arguments.action](arguments)


def _framework(text: str) -> tuple[FrameworkPlugin, str | None]:
    from benchmarker.experiment.framework_version import parse_framework

    return parse_framework(text)


def _list(arguments: argparse.Namespace) -> int:
    from benchmarker.cache import home
    from benchmarker.execution.environments import list_managed

    environments = list_managed()
    if arguments.json:
        print_json([{**asdict(item), "python": item.python} for item in environments])
        return 0
    if not environments:
        print(f"no managed environments in {home()}")
        return 0
    _print_table(environments)
    return 0


def _print_table(environments: list[ManagedEnvironment]) -> None:
    from benchmarker.analysis.text.layout import Column, table
    from benchmarker.analysis.text.units import size
    from benchmarker.execution.environments.recipe import shown

    columns = [
        Column("name", tuple(item.name for item in environments), key=True),
        Column("Python", tuple(item.python_version for item in environments)),
        Column("size", tuple(size(item.size_bytes) for item in environments), numeric=True),
        Column("made (UTC)", tuple(item.made_at[:16].replace("T", " ") for item in environments)),
        Column("requirements", tuple(shown(item.requirements, item.recorded) for item in environments)),
    ]
    for folder in dict.fromkeys(str(Path(item.path).parent) for item in environments):
        print(f"in {folder}")
    print_text(f"\n{table(columns, output_width())}")


def _print_interpreter(interpreter: Interpreter, as_json: bool) -> None:
    if as_json:
        print_json(asdict(interpreter))
    else:
        print(interpreter.path)


def _create(arguments: argparse.Namespace) -> int:
    """Make environments one after the other; one that cannot be made is told of and stops none of the others."""
    from benchmarker.execution.environments import resolve

    permit(arguments)
    wanted = dict.fromkeys(itertools.chain(*arguments.frameworks))
    chosen = list(map(_framework, wanted))
    progress = notes(quiet=arguments.quiet or arguments.json)
    made: list[Interpreter] = []
    for plugin, version in chosen:
        try:
            made.append(
                resolve(
                    plugin,
                    choice="managed",
                    version=version,
                    cuda=arguments.cuda,
                    ranks=arguments.ranks,
                    progress=progress,
                )
            )
        except EnvironmentCreationError as error:
            if len(wanted) == 1:
                raise
            tell(printable(str(error)))
    if arguments.json and len(wanted) > 1:
        print_json([asdict(interpreter) for interpreter in made])
    else:
        for interpreter in made:
            _print_interpreter(interpreter, arguments.json)
    return int(len(made) < len(wanted))


def _check(arguments: argparse.Namespace) -> int:
    from benchmarker.execution.environments.integrity import mark_damaged
    from benchmarker.execution.environments.managed import find_managed, managed_names

    finished = filter(find_managed, managed_names(arguments.names or None))
    found = {name: mark_damaged(name, contents=True) for name in finished}
    if arguments.json:
        print_json(found)
    else:
        print("\n".join(fault or f"{name} is as it was installed" for name, fault in found.items()))
    return int(any(found.values()))


def _remove(arguments: argparse.Namespace) -> int:
    from benchmarker.execution.environments import remove_managed

    removed = remove_managed(None if arguments.all else [arguments.name])
    if arguments.json:
        print_json(removed)
        return 0
    print("\n".join(f"removed {name}" for name in removed) or "there was nothing to remove")
    return 0


def _path(arguments: argparse.Namespace) -> int:
    from benchmarker.execution.environments import locate

    plugin, version = _framework(arguments.framework)
    found = locate(plugin, version=version, cuda=arguments.cuda, ranks=arguments.ranks)
    if found is None:
        wanted = arguments.framework
        made = "".join(f" --{name}" for name in ("cuda", "ranks") if getattr(arguments, name))
        print(
            f"no interpreter for '{wanted}' yet; make one with 'python -m benchmarker env create {wanted}{made}'",
            file=sys.stderr,
        )
        return 1
    _print_interpreter(found, arguments.json)
    return 0
