"""The page of the commands: each with the text of its ``--help``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from unittest import mock

from markdown_text import block

from benchmarker.cli import main as cli

WIDTH = "100"


def commands_page() -> str:
    """Return the page."""
    with mock.patch.dict(os.environ, {"COLUMNS": WIDTH, "NO_COLOR": "1"}):
        sections = [f"## {title}\n\n{block(text)}" for title, text in _helps()]
        overview = cli._overview()
    intro = (
        "Every command with its `--help`. Separate the values of an option that takes several with commas. The exit "
        "status is 0 if all went well, 1 if a run, check or record did not, 2 if the request is not valid, and 130 if "
        "the command was interrupted; a command with further statuses lists them."
    )
    return "\n\n".join(["# Commands", intro, block(overview), *sections]) + "\n"


def _helps() -> Iterator[tuple[str, str]]:
    for name in cli.COMMANDS:
        module = cli.command_module(name)
        parser = cli._Parser(prog=f"benchmarker {name}", description=module.__doc__, allow_abbrev=False)
        module.add_arguments(parser)
        yield from _with_subcommands(parser)


def _with_subcommands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    yield parser.prog, parser.format_help()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _with_subcommands(inner)
