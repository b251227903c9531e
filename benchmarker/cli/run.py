"""Run benchmarks: a blueprint file, or options that each take a comma-separated list, and the matrix of all."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarker.cli.run_options import add_arguments, given
from benchmarker.cli.terminal import end_as_interrupted
from benchmarker.errors import UsageError
from benchmarker.experiment import Experiment, RunSpec, identity

if TYPE_CHECKING:
    from benchmarker.blueprint.loading import Blueprint
    from benchmarker.campaign import Campaign
    from benchmarker.record import FinishedRun
    from benchmarker.replication import Precision

__all__ = ["add_arguments", "experiment", "main"]


def experiment(arguments: argparse.Namespace, blueprint: Blueprint | None = None) -> Experiment:
    """Return what was asked for by options, or by a blueprint and options over it.

    Raises
    ------
    UsageError
        If there is no problem or no framework.
    """
    values = given(arguments)
    if blueprint is not None:
        from benchmarker.blueprint.overriding import overridden

        values = overridden(blueprint.values, values)
    missing = [
        option
        for option, name in (("--framework", "frameworks"), ("--problem or --suite", "problems"))
        if name not in values
    ]
    if missing:
        where = (
            "a blueprint that names it" if blueprint is None else f"a field of it in {arguments.blueprint}"
        )
        raise UsageError(f"{' and '.join(missing)} required, or {where} (benchmarker run --help tells more)")
    return Experiment(**values)


def _planned(arguments: argparse.Namespace, blueprint: Blueprint | None) -> tuple[Experiment, list[RunSpec]]:
    """Return the experiment and its runs; a fault of the blueprint is told with its line."""
    from benchmarker.planning import ExperimentError, plan

    asked = experiment(arguments, blueprint)
    try:
        return asked, plan(asked)
    except ExperimentError as error:
        from benchmarker.blueprint.overriding import is_given

        if blueprint is not None and not is_given(error.fault, given(arguments)):
            fault = blueprint.fault(error.fault)
            if fault is not None:
                raise UsageError(str(fault)) from None
        raise


def _tell(text: str) -> None:
    print(f"benchmarker: {text}", file=sys.stderr)


def _load(arguments: argparse.Namespace) -> Blueprint | None:
    if arguments.blueprint is None:
        return None
    from benchmarker.blueprint.loading import load

    blueprint = load(arguments.blueprint)
    if not arguments.quiet and not arguments.json:
        for note in blueprint.notes:
            _tell(f"{arguments.blueprint}: {note}")
    return blueprint


def main(arguments: argparse.Namespace) -> int:
    """Run the experiment and print its table, or its records as JSON lines."""
    blueprint = _load(arguments)
    asked, runs = _planned(arguments, blueprint)
    folder = arguments.results or (blueprint and blueprint.results) or Path("results")
    if arguments.dry_run and not arguments.resume:
        return _show_plan(arguments, asked, runs, {})
    from benchmarker.campaign import Campaign
    from benchmarker.experiment_faults import precision

    campaign = Campaign(runs, precision(asked), keep_first_order=asked.early_stop)
    done: dict[str, FinishedRun] = {}
    if arguments.resume:
        from benchmarker.resuming import finished_before

        every = campaign.every()
        done = {identity(every[index]): run for index, run in finished_before(every, folder).items()}
        campaign.resume({run: known.record["id"] for run, known in done.items()})
        if not arguments.quiet and not arguments.json:
            _tell(f"{len(done)} of {len(every)} runs have an ok record in {folder} and are left out")
    if arguments.dry_run:
        return _show_plan(arguments, asked, runs, done)
    return _run(arguments, asked, campaign, done, folder)


def _show_plan(
    arguments: argparse.Namespace,
    asked: Experiment,
    runs: Sequence[RunSpec],
    done: Mapping[str, FinishedRun],
) -> int:
    """Print what would be run; ``done`` has, by identity, what has a record already."""
    from benchmarker.experiment_faults import precision

    records = [done.get(identity(run)) if done else None for run in runs]
    if arguments.json:
        _print_plan(runs, records, precision(asked), asked.repeats or 1)
        return 0
    from benchmarker.cli.terminal import output_width
    from benchmarker.report.plan import plan_table

    skipped = {index for index, known in enumerate(records) if known}
    print(plan_table(runs, wanted=precision(asked), skipped=skipped, width=output_width()))
    return 0


def _print_plan(
    runs: Sequence[RunSpec],
    records: Sequence[FinishedRun | None],
    wanted: Precision | None,
    processes: int,
) -> None:
    from benchmarker.experiment import specification
    from benchmarker.planning import refusals
    from benchmarker.replication import as_asked

    replication = as_asked(wanted, processes)
    for run, refusal, known in zip(runs, refusals(runs), records):
        record = str(known.path) if known else None
        line = {**specification(run), "replication": replication, "refusal": refusal, "record": record}
        print(json.dumps(line))


def _run(
    arguments: argparse.Namespace,
    asked: Experiment,
    campaign: Campaign,
    done: Mapping[str, FinishedRun],
    folder: Path,
) -> int:
    from benchmarker.cli.display import make_display
    from benchmarker.orchestrator import Orchestrator
    from benchmarker.store import Store, read_record

    store = Store(folder)
    store.check_writable()
    end_as_interrupted()
    display = make_display(quiet=arguments.quiet or arguments.json)
    new = 0
    orchestrator = Orchestrator(store, display, accept=asked.accept, early_stop=asked.early_stop)
    try:
        for run in orchestrator.run(campaign, lambda spec: done.get(identity(spec))):
            new += 1
            if arguments.json:
                # As it was stored: what JSON cannot spell (infinity, not-a-number) is null there.
                print(json.dumps(read_record(run.path)), flush=True)
    finally:
        display.close()
    # Cells run in an order of their own each round; people look for them as they asked for them.
    every = sorted(orchestrator.every, key=lambda run: run.cell)
    if not arguments.json:
        _print_results(every, new, folder, operators=asked.level == "operator")
    return _verdict(arguments, asked, every, orchestrator.skipped)


def _print_results(found: Sequence[FinishedRun], new: int, folder: Path, *, operators: bool) -> None:
    from benchmarker.cli.terminal import output_width
    from benchmarker.report.operators import operators_report
    from benchmarker.report.table import comparison_table, record_summary

    if len(found) == 1:
        print(record_summary(found[0].record, found[0].path, width=output_width()))
        return
    report = operators_report if operators else comparison_table
    print(report([run.record for run in found], width=output_width()))
    before = f", {len(found) - new} of them from before" if len(found) > new else ""
    print(f"\n{len(found)} records in {folder}{before}")


def _verdict(
    arguments: argparse.Namespace, asked: Experiment, found: Sequence[FinishedRun], skipped: Sequence[str]
) -> int:
    """Tell what did not go well or was not accepted, and return the exit status."""
    from benchmarker.acceptance import judge, sentences

    if any(run.interrupted for run in found):
        return 130
    failed = [run for run in found if run.record["status"] != "ok"]
    # A table has them in its notes.
    for run in failed if arguments.json else ():
        _tell(f"{run.path}: {run.record['error']['message']}")
    for reason in skipped if arguments.json or arguments.quiet else ():
        _tell(reason)
    refused = [
        f"{run.path}: not accepted: {sentence}"
        for run in found
        if run.record["status"] == "ok"
        for sentence in sentences(judge(run.record, asked.accept))
    ]
    for sentence in refused:
        _tell(sentence)
    return 1 if failed or refused else 0
