"""Run records again, and say whether their numbers were reproduced."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from benchmarker.cli.terminal import end_as_interrupted, output_width
from benchmarker.errors import BenchmarkerError, UsageError

if TYPE_CHECKING:
    from benchmarker.experiment import Experiment, RunSpec

EXIT_STATUSES = {"not reproduced": 1, "cannot tell": 4, "not comparable": 4, "reproduced": 0}
"""Exit status by verdict; the first that some record got."""
EXIT_INTERRUPTED = 130
ENVIRONMENTS = ("auto", "recorded", "current")
FEWEST_REPEATS = 5
"""Of a number from fewer processes: the spread of three says little."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``rerun``."""
    parser.epilog = (
        "exit status: 0 reproduced; 1 not reproduced; 2 what was asked makes no sense; 4 nothing can be told"
    )
    parser.add_argument(
        "records",
        nargs="+",
        metavar="RECORD",
        help="a record's file, or its name, the beginning or end of its id, or last with the folder as --results; "
        "processes of the same number that lie beside it count with it",
    )
    parser.add_argument(
        "--env",
        choices=ENVIRONMENTS,
        default="auto",
        help="auto: today's environment with the record's version of the framework; recorded: one with every "
        "package as recorded; current: this interpreter",
    )
    parser.add_argument(
        "--problem",
        type=Path,
        metavar="PATH",
        help="of a problem that is a file: the file, or its folder; default: below the working directory",
    )
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument(
        "--repeats",
        type=int,
        metavar="N",
        help=f"fresh processes; default: as many as the record's number has, at least {FEWEST_REPEATS}",
    )
    amount.add_argument(
        "--profile", metavar="NAME", help="quick, standard or rigorous: until it is known that well"
    )
    parser.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR", help="default: results"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a record")
    parser.add_argument("--quiet", action="store_true", help="no progress")


@dataclass(frozen=True)
class _Original:
    """A number to be reproduced: the record that was named, and all of its processes."""

    path: Path
    record: dict[str, Any]
    processes: Sequence[Any]


def main(arguments: argparse.Namespace) -> int:
    """Run the records again, print what is to be said of each and return the worst verdict's exit status."""
    try:
        return _rerun(arguments)
    except BenchmarkerError as error:
        raise UsageError(str(error)) from error  # status 1 is said of numbers here


def _rerun(arguments: argparse.Namespace) -> int:
    from benchmarker.report.rerun import as_json, as_text
    from benchmarker.rerunning import compare
    from benchmarker.store import Store

    store = Store(arguments.results)
    originals = _originals(arguments.records, arguments.results)
    planned = [_planned(original, arguments) for original in originals]
    store.check_writable()
    end_as_interrupted()
    verdicts = set()
    for index, (original, (asked, runs)) in enumerate(zip(originals, planned)):
        paths, records = _run(store, asked, runs, quiet=arguments.quiet or arguments.json)
        if any(record["status"] == "interrupted" for record in records):
            return EXIT_INTERRUPTED
        comparison = compare(original.processes, records)
        verdicts.add(comparison.verdict)
        if arguments.json:
            print(json.dumps(as_json(comparison, original.path, paths)), flush=True)
        else:
            text = as_text(comparison, original.record, original.path, paths, width=output_width())
            print(("\n" if index else "") + text, flush=True)
    return next(status for verdict, status in EXIT_STATUSES.items() if verdict in verdicts)


# --- which records --------------------------------------------------------------------------------


def _originals(names: Sequence[str], results: Path) -> list[_Original]:
    """Return each number that is named, once also if several of its processes are."""
    from benchmarker.results.naming import find_record

    found: list[_Original] = []
    for path in (find_record(name, results) for name in names):
        record = _read(path)
        if all(record["id"] not in {other["id"] for other in known.processes} for known in found):
            found.append(_Original(path, record, _processes(record, path)))
    return found


def _read(path: Path) -> dict[str, Any]:
    from benchmarker.schema import validate
    from benchmarker.store import read_record

    record = read_record(path)
    faults = validate(record)
    if faults:
        raise UsageError(f"'{path}' is not a valid record: {faults[0]}")
    if record.get("imported"):
        raise UsageError(f"'{path}' cannot be run again: another program measured it, and it was imported")
    if record["status"] != "ok" or not record["timing"]["step_seconds"]:
        raise UsageError(
            f"'{path}' has no number to reproduce: its run ended as '{record['status']}'; its command, run again, "
            "shows whether it still does"
        )
    return record


def _processes(record: dict[str, Any], path: Path) -> Sequence[Any]:
    from benchmarker.rerunning import processes_of
    from benchmarker.schema import validate
    from benchmarker.store import iter_records

    beside = [file for file in path.parent.glob("*.json") if file.is_file()]
    readable = (other for file in beside for _, other in iter_records(file, lambda damaged, reason: None))
    return processes_of(record, (other for other in readable if not validate(other)))


# --- what to run ----------------------------------------------------------------------------------


def _planned(original: _Original, arguments: argparse.Namespace) -> tuple[Experiment, list[RunSpec]]:
    """Return the experiment of a record and its runs; what makes them impossible is told with the record."""
    from benchmarker.planning import plan

    try:
        asked = _asked(original, arguments)
        return asked, plan(asked)
    except BenchmarkerError as error:
        raise UsageError(f"'{original.path}' cannot be run again: {error}") from error


def _asked(original: _Original, arguments: argparse.Namespace) -> Experiment:
    from benchmarker.rerunning import experiment_of, possible_here, with_interpreter, with_problem_file
    from benchmarker.worker_environment import granted_threads, usable_cpus

    record = original.record
    asked = experiment_of(record) if record.get("specification") else _as_commanded(record["command"])
    asked = with_problem_file(asked, record, arguments.problem)
    version, choice = _interpreter(record, asked, arguments)
    asked = with_interpreter(asked, version, choice)
    asked = possible_here(asked, usable_cpus(), granted_threads)
    repeats = arguments.repeats
    if repeats is None and arguments.profile is None:
        repeats = max(len(original.processes), FEWEST_REPEATS)
    return replace(asked, repeats=repeats, profile=arguments.profile)


class _CommandParser(argparse.ArgumentParser):
    """Reports a fault in a record's command as one of the record."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"its command is not understood: {message}")


def _as_commanded(command: Sequence[str]) -> Experiment:
    """Return what a record's command asks for: before 1.1 it is the specification."""
    from benchmarker.cli.run import experiment
    from benchmarker.cli.run_options import add_arguments as add_options_of_run

    parser = _CommandParser(allow_abbrev=False)
    add_options_of_run(parser)
    asked = experiment(parser.parse_args(command[command.index("run") + 1 :]))
    # Every step was synchronised then.
    return replace(asked, sampling=asked.sampling or ("latency",))


def _interpreter(
    record: dict[str, Any], asked: Experiment, arguments: argparse.Namespace
) -> tuple[str | None, str]:
    """Return the framework's version to ask for and the interpreter, as ``--env`` of a run takes it."""
    from benchmarker.rerunning import interpreter_of

    version = record["framework"]["version"]
    if arguments.env == "current":
        return None, "current"  # whatever it holds; if that is another version, the verdict says so
    if arguments.env == "recorded":
        return version, _recorded(record, quiet=arguments.quiet or arguments.json)
    return version, interpreter_of(record, asked)


def _recorded(record: dict[str, Any], *, quiet: bool) -> str:
    from benchmarker import registry
    from benchmarker.environments.recorded import recorded_environment

    def tell(line: str) -> None:
        if not quiet:
            print(line, file=sys.stderr, flush=True)

    plugin = registry.framework(record["framework"]["name"])
    ours = {registry.OWN_DISTRIBUTION, *(entry.distribution for entry in registry.entries())}
    return recorded_environment(plugin, record["environment"], ours, tell).python


# --- running --------------------------------------------------------------------------------------


def _run(
    store: Any, asked: Experiment, runs: Sequence[RunSpec], *, quiet: bool
) -> tuple[list[Path], list[dict[str, Any]]]:
    """Run the processes of one number and return their records as they were stored."""
    from benchmarker.campaign import Campaign
    from benchmarker.cli.display import make_display
    from benchmarker.experiment_faults import precision
    from benchmarker.orchestrator import Orchestrator
    from benchmarker.store import read_record

    display = make_display(quiet=quiet)
    try:
        finished = list(Orchestrator(store, display).run(Campaign(runs, precision(asked))))
    finally:
        display.close()
    paths = [run.path for run in finished]
    return paths, [read_record(path) for path in paths]
