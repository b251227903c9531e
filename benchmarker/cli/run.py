"""Run benchmarks: those of a blueprint file, or every combination of options, which take comma-separated lists."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarker.cli.records import tell_skipped
from benchmarker.cli.run_options import add_arguments, given, permit
from benchmarker.cli.terminal import ReadOrNot, end_as_interrupted, print_text, tell
from benchmarker.errors import UsageError

if TYPE_CHECKING:
    from benchmarker.experiment.blueprint.loading import Blueprint
    from benchmarker.experiment.spec import Experiment
    from benchmarker.orchestration.experiment_run import ExperimentRun
    from benchmarker.records.assembly.facts import FinishedRun

__all__ = ["add_arguments", "experiment", "main"]


def experiment(arguments: argparse.Namespace) -> Experiment:
    """Return what was asked for by options alone.

    Raises
    ------
    UsageError
        If there is no problem or no framework.
    """
    from benchmarker.orchestration.experiment_run import experiment_from_options

    return experiment_from_options(given(arguments))


def _load(arguments: argparse.Namespace) -> Blueprint | None:
    if arguments.blueprint is None and arguments.recipe is None:
        return None
    from benchmarker.experiment.recipes import requested_blueprint

    blueprint = requested_blueprint(arguments.blueprint, arguments.recipe)
    if blueprint is not None and not arguments.quiet and not arguments.json:
        for note in blueprint.notes:
            tell(f"{arguments.blueprint or arguments.recipe}: {note}")
    return blueprint


def main(arguments: argparse.Namespace) -> int:
    """Run the experiment and print its table, or its records as JSON lines."""
    return run_blueprint(arguments, _load(arguments))


def run_blueprint(arguments: argparse.Namespace, blueprint: Blueprint | None) -> int:
    """Run a blueprint with what the command gives over it, and print what came of it."""
    from benchmarker.orchestration.experiment_run import ExperimentRun

    permit(arguments)
    experiment_run = ExperimentRun.planned(given(arguments), blueprint, arguments.results, arguments.part)
    if not arguments.dry_run:
        _go_where_launchers_start(experiment_run.experiment)
    if arguments.resume:
        experiment_run.resume()
    notes = experiment_run.checkpoint(resumes=arguments.resume)
    if arguments.resume:
        tell_skipped(experiment_run.damaged)
        if not arguments.quiet and not arguments.json:
            done, every = len(experiment_run.before), len(experiment_run.campaign.every())
            from benchmarker.records import places

            where = places.shown(experiment_run.folder)
            tell(f"{done} of {every} runs already have an ok record in {where} and are skipped")
    for note in notes if not arguments.quiet else ():
        tell(note)
    return _show_plan(arguments, experiment_run) if arguments.dry_run else _run(arguments, experiment_run)


def _go_where_launchers_start(experiment: Experiment) -> None:
    """Become the command again where a launcher can start something, e.g. in a job that it asks for.

    Raises
    ------
    UsageError
        If a launcher can start nothing, here or anywhere.
    """
    from benchmarker import registry
    from benchmarker.experiment.settings import launcher_options

    for launcher in map(registry.launcher, experiment.launchers):
        options = launcher_options(launcher, experiment.settings, "a launcher")
        program = [sys.executable, "-m", "benchmarker", *sys.argv[1:]]
        around = None if options is None else launcher.around(options, program)
        if around is not None:
            os.execvp(around[0], around)
        fault = launcher.fault()
        if fault is not None:
            raise UsageError(fault)


def _show_plan(arguments: argparse.Namespace, experiment_run: ExperimentRun) -> int:
    """Print what would be run."""
    if arguments.json:
        for line in experiment_run.plan():
            print(json.dumps(line))
        return 0
    from benchmarker.analysis.text.plan import plan_table
    from benchmarker.cli.terminal import output_width

    skipped = {index for index, known in enumerate(experiment_run.known) if known}
    wanted = experiment_run.experiment.wanted_precision
    print(plan_table(experiment_run.runs, wanted=wanted, skipped=skipped, width=output_width()))
    return 0


def _warn() -> None:
    """Tell what will spoil numbers, before they are measured."""
    from benchmarker.cli.terminal import output_width
    from benchmarker.orchestration.doctor import warnings_before_run

    found = [f"{finding.name}: {finding.found}" for finding in warnings_before_run()]
    if found:
        warning = f"this machine may distort the measurements: {'; '.join(found)} (see benchmarker doctor)"
        print(
            textwrap.fill(f"benchmarker: {warning}", output_width(), subsequent_indent="  "), file=sys.stderr
        )


def _run(arguments: argparse.Namespace, experiment_run: ExperimentRun) -> int:
    from benchmarker.cli.display import make_display

    def prepare() -> None:
        end_as_interrupted()
        if not arguments.quiet and not arguments.json:
            _warn()

    display = make_display(quiet=arguments.quiet or arguments.json)
    new = 0
    output = ReadOrNot()
    try:
        for run in experiment_run.execute(display, prepare):
            new += 1
            if arguments.json:
                output.print(json.dumps(run.record))
    finally:
        display.close()
    if not arguments.json:
        operators = experiment_run.experiment.level == "operator"
        with output.tolerated():
            _print_results(experiment_run.finished, new, experiment_run.folder, operators=operators)
    status = _verdict(arguments, experiment_run)
    output.raise_fault()
    return status


def _print_results(found: Sequence[FinishedRun], new: int, folder: Path, *, operators: bool) -> None:
    from benchmarker.analysis.comparison.trainings import are_by_recipes
    from benchmarker.analysis.text.collectives import collectives_table, is_collective
    from benchmarker.analysis.text.experiment_table import comparison_table, record_summary
    from benchmarker.analysis.text.operators import operators_report
    from benchmarker.analysis.text.ranks import ranks_table
    from benchmarker.analysis.text.trainings import trainings_table
    from benchmarker.cli.terminal import output_width
    from benchmarker.records import places

    if len(found) == 1:
        print_text(record_summary(found[0].record, found[0].path, width=output_width()))
        return
    records = [run.record for run in found]
    report = (
        operators_report if operators else trainings_table if are_by_recipes(records) else comparison_table
    )
    print_text(report(records, width=output_width()))
    exchanges = [record for record in records if is_collective(record)]
    if exchanges:
        print_text(f"\n{collectives_table(exchanges, width=output_width())}")
    if sum(bool(record.get("distributed")) for record in records) > len(exchanges):
        print_text(f"\n{ranks_table(records, width=output_width())}")
    before = f", {len(found) - new} of them from before" if len(found) > new else ""
    print(f"\n{len(found)} records in {places.shown(folder)}{before}")


def _verdict(arguments: argparse.Namespace, experiment_run: ExperimentRun) -> int:
    """Tell what did not go well or was not accepted, and return the exit status."""
    if experiment_run.interrupted:
        return 130
    failed, refused = experiment_run.failed, experiment_run.not_accepted
    # A table has them in its notes.
    for run in failed if arguments.json else ():
        tell(f"{run.path}: {run.record['error']['message']}")
    for reason in experiment_run.skipped if arguments.json or arguments.quiet else ():
        tell(reason)
    for sentence in refused:
        tell(sentence)
    for sentence in experiment_run.troubles:
        tell(sentence)
    return 1 if failed or refused or experiment_run.troubles else 0
