"""The entry of the command line: finds the command, runs it, turns errors into one sentence."""

from __future__ import annotations

import argparse
import faulthandler
import gc
import importlib
import itertools
import re
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from benchmarker.api.given_values import possible_paths
from benchmarker.cli import counter
from benchmarker.cli.terminal import OUTPUT_FAULTS, STDERR, drop_output, output_width, secure_streams, tell
from benchmarker.errors import BenchmarkerError, did_you_mean, nearest, printable
from benchmarker.version import __version__

COMMANDS = {
    "run": "run benchmarks (the default command)",
    "train": "train by a recipe to its target, with several frameworks and seeds",
    "list": "show frameworks, problems, suites and every other kind of plug-in",
    "show": "show a problem: parameters, layers, cost",
    "verify": "prove that frameworks compute the same function",
    "export": "write a problem as an ONNX model",
    "blueprint": "check blueprint files, or print their schema for editors",
    "check": "run the conformance suite on a framework",
    "new": "write the package of a new plug-in, to start from",
    "submit": "submit a blueprint's cells as jobs to a batch system",
    "jobs": "show the state of submitted jobs, or cancel them",
    "collect": "bring home the records of submitted jobs",
    "env": "list, create, check and remove the environments of frameworks",
    "rerun": "run records again, and say whether their numbers were reproduced",
    "results": "list, show, query, export, merge, prune, import and index records",
    "compare": "say which is faster, by how much, and whether that is shown",
    "scale": "predict step times on more ranks than there are here",
    "track": "show how a number changed over time, and where",
    "plot": "draw a picture of records",
    "report": "write one page about records: tables, pictures and every run",
    "list-site": "make a public list of records: a site of contests and ranks",
    "validate": "check records against the schema",
    "doctor": "find what on this machine will distort measurements",
    "data": "time how long images take from storage to memory",
    "calibrate": "measure this machine's peaks, which runs are then compared with",
    "completion": "print the completion script for bash, zsh or fish",
}
MIN_OBJECTS_TO_COLLECT = 50_000
"""New objects after which garbage is looked for: what imports leave is none, and looking takes time of each start."""
MISSING = "the following arguments are required: "
"""How argparse begins what it says of missing arguments, by the names that it gives to actions."""
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
"""As a shell tells of a program that SIGPIPE ended."""


def command_module(command: str) -> ModuleType:
    """Import a command."""
    # Each command's module is imported only when it is asked for, which keeps --help quick.
    module = "listing" if command == "list" else command.replace("-", "_")
    return importlib.import_module(f"benchmarker.cli.{module}")


def _overview() -> str:
    rows = "\n".join(f"  {name:<12}{what}" for name, what in COMMANDS.items())
    return (
        "usage: benchmarker [run] --framework=NAME,... --problem=NAME,... [options]\n"
        "       benchmarker [run] BLUEPRINT.toml [options]\n"
        "       benchmarker COMMAND [options]\n\n"
        "Measures how fast deep learning is on this machine, framework by framework, and\n"
        "whether to believe the number.\n\n"
        f"commands:\n{rows}\n\n"
        "  benchmarker COMMAND --help shows the options of a command.\n\n"
        "example:\n"
        "  benchmarker --framework=pytorch,mxnet --problem=resnet50 --mode=inference\n"
    )


class _Formatter(argparse.HelpFormatter):
    """Shows each option once, without its spelling with underscores, and fits the terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=36, width=output_width())

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return super()._format_action_invocation(action)
        shown = [name for name in action.option_strings if "_" not in name]
        value = "" if action.nargs == 0 else " " + self._format_args(action, action.dest.upper())
        return ", ".join(shown) + value


class _Parser(argparse.ArgumentParser):
    """Reports a fault in one sentence."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**{"formatter_class": _Formatter, "allow_abbrev": False, **keywords})
        self._mixes = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Take several words of a command wherever they stand among its options."""
        if self._mixes or not self._takes_words():
            return super().parse_known_args(args, namespace)
        self._mixes = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._mixes = False

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse what is no argument, with the name that is nearest to it."""
        given = sys.argv[1:] if args is None else list(args)
        options = _options(self)
        # Before what is missing is told of, which a misspelt option may be.
        for word in itertools.takewhile(lambda word: word != "--", given):
            if word.startswith("--") and word.partition("=")[0] not in options:
                self.error(_unknown(word, options))
        found, unknown = self.parse_known_args(given, namespace)
        if unknown:
            self.error(_unknown(unknown[0], options))
        return found

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = list(map(str, action.choices))
            message = f"must be one of {', '.join(choices)}, got '{value}'{nearest(value, choices)}"
            raise argparse.ArgumentError(action, message)

    def _takes_words(self) -> bool:
        words = self._get_positional_actions()
        excluded = [action for group in self._mutually_exclusive_groups for action in group._group_actions]
        plain = not any(action.nargs == argparse.PARSER or action in excluded for action in words)
        return plain and any(action.nargs in ("*", "+") for action in words)

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        if action.nargs is None and arg_strings == ["--"]:
            # argparse drops these two hyphens also where they are an option's value, and gives a list.
            value = self._get_value(action, "--")
            self._check_value(action, value)
            return value
        return super()._get_values(action, arg_strings)

    def _required(self, names: Sequence[str]) -> str:
        """Return the sentence about arguments that are missing, with what each may be where it is one of a few."""
        choices = {argparse._get_action_name(action): action.choices or () for action in self._actions}
        missing = [
            name.rpartition("/")[2] + _may_be([str(choice) for choice in choices[name] if choice != name])
            for name in names
        ]
        return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} required"

    def error(self, message: str) -> None:  # type: ignore[override]
        missing = message.removeprefix(MISSING)
        if missing != message:
            message = self._required(missing.split(", "))
        group = re.fullmatch(r"one of the arguments (.+) is required", message)
        if group:
            message = f"one of {', '.join(group[1].split())} is required"
        # argparse names an option by all its spellings; a rule's sentence has it as its subject.
        message = re.sub(r"^argument (?:-\w/)?(--[\w-]+|[A-Z]+)(?:/--\w+)*: must ", r"\1 must ", message)
        self.exit(2, f"{self.prog}: {printable(message)} (see {self.prog} --help)\n")


def _may_be(choices: Sequence[str]) -> str:
    """Return what an argument may be, after its name."""
    if not choices:
        return ""
    return f" ({'one of ' if len(choices) > 1 else ''}{', '.join(choices)})"


def _unknown(word: str, options: set[str]) -> str:
    """Return the sentence about a word that no argument takes."""
    if not word.startswith("-"):
        return f"unexpected argument '{word}'"
    name = word.partition("=")[0]
    return f"unknown option '{name}'{nearest(name, (option for option in options if '_' not in option))}"


def _options(parser: argparse.ArgumentParser) -> set[str]:
    """Return the options of a command and of all its actions."""
    found = set(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found.update(*map(_options, action.choices.values()))
    return found


def command_parser(command: str) -> argparse.ArgumentParser:
    """Return what reads the arguments of a command."""
    module = command_module(command)
    parser = _Parser(prog=f"benchmarker {command}", description=module.__doc__, allow_abbrev=False)
    module.add_arguments(parser)
    return parser


def _run_command(command: str, arguments: Sequence[str]) -> int:
    parser = command_parser(command)
    status: int = command_module(command).main(parser.parse_args(arguments))
    unsent = _close_places()
    return status or unsent


def _close_places() -> int:
    """Send what was not sent yet to the addresses that a command named; return 1 if that could not be done."""
    # What reads and writes no records has not imported it, and need not.
    if "benchmarker.records.places" not in sys.modules:
        return 0
    from benchmarker.records import places

    sentences, complete = places.close()
    for sentence in sentences:
        tell(printable(sentence))
    return int(not complete)


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["help"] and len(arguments) > 1:
        arguments = [arguments[1], "--help"]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_overview(), end="")
        return 0
    if arguments[0] == "--version":
        print(f"benchmarker {__version__}")
        return 0
    if arguments[0].startswith("-") or arguments[0].endswith((".toml", ".py")):
        return _run_command("run", arguments)
    if arguments[0] not in COMMANDS:
        message = f"unknown command '{arguments[0]}'{did_you_mean(arguments[0], COMMANDS)}"
        tell(printable(message))
        return 2
    return _run_command(arguments[0], arguments[1:])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    0: it went well; 1: a run, check or record did not; 2: what was asked for is wrong; 130: interrupted;
    141: whoever read the output has gone.
    """
    gc.set_threshold(MIN_OBJECTS_TO_COLLECT)
    secure_streams()
    if not faulthandler.is_enabled():
        faulthandler.enable(STDERR)  # says where a crash of this process itself was
    try:
        try:
            with possible_paths():
                status = _dispatch(list(sys.argv[1:] if arguments is None else arguments))
        finally:
            counter.clear()
        sys.stdout.flush()
        return status
    except BenchmarkerError as error:
        tell(printable(str(error)))
        return error.exit_status
    except KeyboardInterrupt:
        tell("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        drop_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        if error.errno not in OUTPUT_FAULTS or error.filename is not None:
            raise
        drop_output()
        tell(f"the output could not be written: {error.strerror}")
        return 1
