"""Run records again, and say whether their numbers were reproduced."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from benchmarker.cli.records import add_results, tell_skipped
from benchmarker.cli.terminal import end_as_interrupted, notes, output_width, print_text, tell
from benchmarker.cli.values import file_path, whole
from benchmarker.errors import BenchmarkerError, UsageError
from benchmarker.experiment.experiment_options import MAX_PROCESSES
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    from benchmarker.analysis.reproduction import Comparison
    from benchmarker.experiment.spec import Experiment, RunSpec

EXIT_STATUSES = {"not reproduced": 1, "cannot tell": 4, "not comparable": 4, "reproduced": 0}
"""Exit status by verdict; the first that some record got."""
EXIT_INTERRUPTED = 130
ENVIRONMENTS = ("auto", "recorded", "current")
MIN_REPEATS = 5
"""Of a number from fewer processes: the spread of three says little."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``rerun``."""
    parser.epilog = (
        "exit status: 0 reproduced; 1 not reproduced, or a new record is not in the results folder; "
        "2 the request is not valid; 4 it cannot be determined"
    )
    parser.add_argument(
        "records",
        nargs="+",
        metavar="RECORD",
        help="a record: its file or, in the folder of --results, its name, the beginning or end of its id, or last; "
        "the other processes of its number in the same folder count with it",
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
        type=file_path,
        metavar="PATH",
        help="for a problem that is a file: the file or its folder; default: below the working directory",
    )
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument(
        "--repeats",
        type=whole(most=MAX_PROCESSES),
        metavar="N",
        help=f"fresh processes; default: as many as there are of the record's number, at least {MIN_REPEATS}",
    )
    amount.add_argument(
        "--profile",
        metavar="NAME",
        help="quick, standard or rigorous: as many as it takes to know the number this well",
    )
    add_results(parser)
    parser.add_argument(
        "--keep-verdict",
        action="store_true",
        help="also write the verdict next to the record, as NAME.rerun, for a public list of records",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per record")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


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
    from benchmarker.analysis.reproduction import compare
    from benchmarker.analysis.text.rerun import as_json, as_text
    from benchmarker.records.remote.opening import store_at

    store = store_at(arguments.results)
    originals = _originals(arguments.records, arguments.results)
    planned = [_planned(original, arguments) for original in originals]
    if arguments.keep_verdict:
        _check_free(originals)
    store.check_writable()
    end_as_interrupted()
    verdicts, was_rescued = set(), False
    for index, (original, (experiment, runs)) in enumerate(zip(originals, planned)):
        paths, records, troubles = _run(store, experiment, runs, quiet=arguments.quiet or arguments.json)
        was_rescued |= bool(troubles)
        if any(record["status"] == "interrupted" for record in records):
            return EXIT_INTERRUPTED
        comparison = compare(original.processes, records)
        verdicts.add(comparison.verdict)
        if arguments.keep_verdict:
            _keep(original, comparison, records)
        if arguments.json:
            print(json.dumps(as_json(comparison, original.path, paths)), flush=True)
        else:
            text = as_text(comparison, original.record, original.path, paths, width=output_width())
            print_text(("\n" if index else "") + text, flush=True)
    return exit_status(verdicts, was_rescued=was_rescued)


def _check_free(originals: Sequence[_Original]) -> None:
    from benchmarker.analysis.list_site.reruns import check_free

    for original in originals:
        check_free(original.path)


def _keep(original: _Original, comparison: Comparison, records: Sequence[dict[str, Any]]) -> None:
    from benchmarker.analysis.list_site.reruns import keep

    ended = [record for record in records if record["status"] == "ok"]
    keep(original.path, comparison, original.processes, ended)


def exit_status(verdicts: Collection[str], *, was_rescued: bool) -> int:
    """Return the exit status of several verdicts; 1 at least if a record is not where it was asked for."""
    status = next(status for verdict, status in EXIT_STATUSES.items() if verdict in verdicts)
    return status or int(was_rescued)


# --- which records --------------------------------------------------------------------------------


def _originals(names: Sequence[str], results: Path) -> list[_Original]:
    """Return each number that is named, once also if several of its processes are."""
    from benchmarker.analysis.reproduction import sibling_processes
    from benchmarker.analysis.results.selection import find_record

    found: list[_Original] = []
    for path in (find_record(name, results, on_damaged=tell_skipped) for name in names):
        record = _read(path)
        if all(record["id"] not in {other["id"] for other in known.processes} for known in found):
            found.append(_Original(path, record, sibling_processes(record, path)))
    return found


def _read(path: Path) -> dict[str, Any]:
    from benchmarker.analysis.reproduction import valid_record

    record = valid_record(path)
    if record.get("imported"):
        raise UsageError(f"'{path}' cannot be run again: another program measured it, and it was imported")
    if record["status"] != "ok" or not record["timing"]["step_seconds"]:
        raise UsageError(
            f"'{path}' has no number to reproduce: its run ended as '{record['status']}'; its command, run again, "
            "shows whether it still does"
        )
    return record


# --- what to run ----------------------------------------------------------------------------------


def _planned(original: _Original, arguments: argparse.Namespace) -> tuple[Experiment, list[RunSpec]]:
    """Return the experiment of a record and its runs; what makes them impossible is told with the record."""
    from benchmarker.experiment.planning import plan

    try:
        experiment = _experiment(original, arguments)
        return experiment, plan(experiment)
    except BenchmarkerError as error:
        raise UsageError(f"'{original.path}' cannot be run again: {error}") from error


def _experiment(original: _Original, arguments: argparse.Namespace) -> Experiment:
    from benchmarker.analysis.reproduction import (
        experiment_from_record,
        fit_to_machine,
        with_interpreter,
        with_problem_file,
    )
    from benchmarker.machine.threads import available_threads, usable_cpus

    record = original.record
    experiment = (
        experiment_from_record(record) if record.get("specification") else _as_commanded(record["command"])
    )
    experiment = with_problem_file(experiment, record, arguments.problem)
    version, choice = _interpreter(record, experiment, arguments)
    experiment = with_interpreter(experiment, version, choice)
    experiment = fit_to_machine(experiment, usable_cpus(), available_threads)
    repeats = arguments.repeats
    if repeats is None and arguments.profile is None:
        repeats = max(len(original.processes), MIN_REPEATS)
    return replace(experiment, repeats=repeats, profile=arguments.profile)


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
    requested = experiment(parser.parse_args(command[command.index("run") + 1 :]))
    # Every step was synchronised then.
    return requested.replaced(sampling=requested.sampling or ("latency",))


def _interpreter(
    record: dict[str, Any], experiment: Experiment, arguments: argparse.Namespace
) -> tuple[str | None, str]:
    """Return the framework's version to ask for and the interpreter, as ``--env`` of a run takes it."""
    from benchmarker.analysis.reproduction import interpreter_of

    version = record["framework"]["version"]
    if arguments.env == "current":
        return None, "current"  # whatever it holds; if that is another version, the verdict says so
    if arguments.env == "recorded":
        return version, _recorded(record, quiet=arguments.quiet or arguments.json)
    return version, interpreter_of(record, experiment)


def _recorded(record: dict[str, Any], *, quiet: bool) -> str:
    from benchmarker import registry
    from benchmarker.execution.environments.recorded import recorded_environment
    from benchmarker.version import OWN_DISTRIBUTIONS

    plugin = registry.framework(record["framework"]["name"])
    ours = {*OWN_DISTRIBUTIONS, *(entry.distribution for entry in registry.entries())}
    return recorded_environment(plugin, record["environment"], ours, notes(quiet=quiet)).python


# --- running --------------------------------------------------------------------------------------


def _run(
    store: Any, experiment: Experiment, runs: Sequence[RunSpec], *, quiet: bool
) -> tuple[list[Path], list[dict[str, Any]], list[str]]:
    """Run the processes of one number; return their records as they were stored, and what stands elsewhere."""
    from benchmarker.cli.display import make_display
    from benchmarker.experiment.campaign import Campaign
    from benchmarker.orchestration.orchestrator import Orchestrator
    from benchmarker.records.store import as_stored

    display = make_display(quiet=quiet)
    orchestrator = Orchestrator(store, display)
    try:
        finished = list(orchestrator.run(Campaign(runs, experiment.wanted_precision)))
    finally:
        display.close()
    for trouble in orchestrator.troubles:
        tell(trouble)
    records = [as_stored(run.path, run.record) for run in finished]
    return [run.path for run in finished], records, orchestrator.troubles
