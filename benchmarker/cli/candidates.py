"""What may stand at the end of a command line, by the parsers of the commands and the names of plug-ins."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarker import registry
from benchmarker.api.rules import Choice, ListOf
from benchmarker.experiment.options import OPTION_OF_KEY

FILES = ":files"
"""Said in place of words where a shell shall complete files."""
MAX_RECORDS = 500
"""Identifiers offered, the newest."""
_ID_LENGTH = 8
_KINDS = {
    "framework": "frameworks",
    "frameworks": "frameworks",
    "problem": "problems",
    "recipe": "recipes",
    "suite": "suites",
    "optimizer": "optimizers",
    "scheme": "schemes",
    "data": "datasets",
    "launcher": "launchers",
    "monitors": "collectors",
}
"""The kind of plug-ins that the values of an argument name."""
_FILES = {"DIR", "FILE", "PATH", "BLUEPRINT", "FILE.onnx", "FILE.json.gz"}
_RECORDS = {"RECORD", "SIDE"}
_Look = Callable[[], Iterable[str]]


def candidates(line: str) -> tuple[str, list[str]]:
    """Return the last word of a line, and the words that may stand in its place.

    Parameters
    ----------
    line : str
        Up to the cursor, with the command's own name.

    Returns
    -------
    str
        The last word, empty after a space.
    list of str
        Words that begin with it, or :data:`FILES`.
    """
    words = _split(line)[1:]
    if not words:
        return "", []
    *before, current = words
    found = _found(before, current)
    if found is None:
        return current, [FILES]
    return current, sorted({word for word in found if word.startswith(current)})


def _split(line: str) -> list[str]:
    """Return the words of a line; the last is empty after a space, and may have an open quotation."""
    for ending in ("", "'", '"'):
        try:
            words = shlex.split(line + ending)
        except ValueError:
            continue
        return words if ending or not line[-1:].isspace() else [*words, ""]
    return line.split()


def _found(before: Sequence[str], current: str) -> Iterable[str] | None:
    """Return candidates for the last word, not all of which need to begin with it; None for files."""
    from benchmarker.cli.main import COMMANDS

    if not before and not current.startswith("-"):
        return COMMANDS if not _is_path(current) else None
    command, rest = ("run", before) if not before or before[0].startswith("-") else (before[0], before[1:])
    if _is_path(command) and command not in COMMANDS:
        command, rest = "run", before
    if command not in COMMANDS:
        return []
    parser = argparse.ArgumentParser(add_help=True)
    return _of_command(parser, command, rest, current)


def _is_path(word: str) -> bool:
    return os.sep in word or word.endswith((".toml", ".py"))


def _of_command(
    parser: argparse.ArgumentParser, command: str, before: Sequence[str], current: str
) -> Iterable[str] | None:
    from benchmarker.cli.main import command_module

    command_module(command).add_arguments(parser)
    parser, before = _innermost(parser, before)
    position, awaiting = _walk(parser, before)
    if awaiting is not None:
        return _values(awaiting, current, before, "")
    name, separator, value = current.partition("=")
    if name.startswith("-") and separator:
        option = parser._option_string_actions.get(name)
        return [] if option is None else _values(option, value, before, f"{name}=")
    if current.startswith("-"):
        return _options(parser)
    if position is None:
        return []
    if position.metavar == "KEY=VALUE" and separator:
        return [f"{name}={known}" for known in _field_values(name)]
    return _values(position, current, before, "")


def _innermost(
    parser: argparse.ArgumentParser, before: Sequence[str]
) -> tuple[argparse.ArgumentParser, Sequence[str]]:
    """Return the parser of a command's action, and the words after it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) and before and before[0] in action.choices:
            return action.choices[before[0]], before[1:]
    return parser, before


def _walk(
    parser: argparse.ArgumentParser, before: Sequence[str]
) -> tuple[argparse.Action | None, argparse.Action | None]:
    """Return what the next word without a hyphen is, and the option whose value it must be, if it must."""
    positions = parser._get_positional_actions()
    awaiting: argparse.Action | None = None
    for word in before:
        if awaiting is not None:
            awaiting = None
        elif word.startswith("-"):
            option = parser._option_string_actions.get(word)
            awaiting = option if option is not None and option.nargs != 0 else None
        elif positions and positions[0].nargs not in ("*", "+"):
            positions = positions[1:]
    return (positions[0] if positions else None), awaiting


def _options(parser: argparse.ArgumentParser) -> list[str]:
    """Return the options, each with an equals sign if it takes a value, and without its spelling with underscores."""
    return [
        name if action.nargs == 0 else f"{name}="
        for name, action in parser._option_string_actions.items()
        if name.startswith("--") and "_" not in name and action.help != argparse.SUPPRESS
    ]


def _values(action: argparse.Action, value: str, before: Sequence[str], prefix: str) -> Iterable[str] | None:
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    if metavar.partition(",")[0] in _FILES:
        return None
    known = _known(action, metavar, before)
    if known is None:
        return []
    # Of a list the last member is completed, and none is offered twice.
    listed = "," in metavar
    head, comma, _ = value.rpartition(",") if listed else ("", "", "")
    given = head.split(",")
    start = f"{prefix}{head}{comma}"
    return [start + name for name in known if not listed or name not in given]


def _known(action: argparse.Action, metavar: str, before: Sequence[str]) -> Iterable[str] | None:
    """Return the names that an argument may have; None if any text will do."""
    looks: dict[str, _Look] = {
        "KEY=VALUE": _filters,
        "FIELD": _fields,
        "FIELD,...": _fields,
        "KIND": lambda: registry.names("charts"),
        **dict.fromkeys(_RECORDS, lambda: _records(_results(before))),
    }
    if action.choices is not None:
        return list(map(str, action.choices))
    if action.dest in _KINDS and "PATH" not in metavar:
        return registry.names(_KINDS[action.dest])
    if metavar in looks:
        return looks[metavar]()
    return _allowed(action.dest)


def _allowed(name: str) -> Iterable[str] | None:
    option = OPTION_OF_KEY.get(name)
    rule = option.rule if option is not None else None
    rule = rule.rule if isinstance(rule, ListOf) else rule
    return rule.names if isinstance(rule, Choice) else None


def _fields() -> list[str]:
    from benchmarker.analysis.results.filters import field_names

    return list(field_names())


def _filters() -> list[str]:
    from benchmarker.analysis.results.filters import filter_keys

    return [f"{key}=" for key in filter_keys()]


def _field_values(key: str) -> Iterable[str]:
    """Return the values that a filter may be of, as far as they are known."""
    from benchmarker.analysis.results.filters import choices_of

    name = key.removesuffix("!").removesuffix(".name")
    return registry.names(_KINDS[name]) if name in ("framework", "problem", "scheme") else choices_of(name)


def _results(before: Sequence[str]) -> Path:
    """Return the folder of records that a line names."""
    for word, following in zip(before, [*before[1:], ""]):
        if word.startswith("--results"):
            return Path(word.partition("=")[2] or following)
    return Path("results")


def _records(folder: Path) -> list[str]:
    """Return the ends of identifiers of the newest records, by the names of their files, which begin with a time."""
    try:
        files = [entry.name for entry in os.scandir(folder) if entry.name.endswith(".json")]
    except OSError:
        files = []
    stems = (
        name.removesuffix(".json").rpartition("_")[2] for name in sorted(files, reverse=True)[:MAX_RECORDS]
    )
    return ["last", *(stem for stem in stems if len(stem) == _ID_LENGTH)]
