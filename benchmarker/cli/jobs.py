"""Show the state of submitted jobs, in their engine's own words, or cancel them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.cli.records import SHOWN, add_results
from benchmarker.cli.terminal import output_width
from benchmarker.errors import UsageError, plural

if TYPE_CHECKING:
    from benchmarker.orchestration.submission.state import Submission
    from benchmarker.orchestration.submission.status import PartState

_STATES = ("queued", "running", "done", "failed", "ended")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "submission", nargs="?", metavar="ID", help="one submission, part by part; default: all"
    )
    parser.add_argument(
        "--cancel",
        metavar="ID[/PART]",
        help="cancel the unfinished jobs of a submission, or one of its parts",
    )
    add_results(parser, elsewhere=False)
    parser.add_argument("--json", action="store_true", help="print one JSON object per submission")


def main(arguments: argparse.Namespace) -> int:
    """Show the state of jobs, or end some."""
    from benchmarker.orchestration.submission.state import submitted
    from benchmarker.orchestration.submission.status import part_states

    if arguments.cancel is not None:
        return _cancel(arguments)
    found = submitted(arguments.results, arguments.submission)
    states = [(submission, part_states(submission, folder)) for folder, submission in found]
    if arguments.json:
        for submission, parts in states:
            print(json.dumps(_as_json(submission, parts)))
    elif not states:
        print("no submissions")
    elif arguments.submission:
        _print_parts(*states[0])
    else:
        _print_submissions(states)
    return 0


def _cancel(arguments: argparse.Namespace) -> int:
    from benchmarker.orchestration.submission.state import submitted
    from benchmarker.orchestration.submission.status import cancel

    name, separator, number = arguments.cancel.partition("/")
    if arguments.submission or (separator and not number.isdecimal()):
        raise UsageError(f"--cancel takes ID or ID/PART and no other word, got '{arguments.cancel}'")
    ((folder, submission),) = submitted(arguments.results, name)
    ended = cancel(submission, folder, int(number) if separator else None)
    if arguments.json:
        print(json.dumps({"id": submission.id, "cancelled": ended}))
    else:
        print(f"{submission.id}: {plural(len(ended), 'job')} cancelled")
    return 0


def _as_json(submission: Submission, parts: list[PartState]) -> dict[str, Any]:
    return {
        "id": submission.id,
        "engine": submission.engine,
        "blueprint": submission.blueprint,
        "options": list(submission.options),
        "cells": submission.cells,
        "parts": [part.to_json() for part in parts],
    }


def _print_submissions(found: list[tuple[Submission, list[PartState]]]) -> None:
    from benchmarker.analysis.text.layout import Column, table

    columns = [
        Column("submission", tuple(submission.id for submission, _ in found), key=True),
        Column("engine", tuple(submission.engine for submission, _ in found)),
        Column("blueprint", tuple(Path(submission.blueprint).name for submission, _ in found)),
        *(
            Column(
                state,
                tuple(str(sum(part.state == state for part in parts)) for _, parts in found),
                numeric=True,
            )
            for state in _STATES
        ),
        Column(
            "records", tuple(str(sum(part.records for part in parts)) for _, parts in found), numeric=True
        ),
    ]
    print(table(columns, output_width()))


def _print_parts(submission: Submission, parts: list[PartState]) -> None:
    from benchmarker.analysis.text.layout import Column, table

    # What is to be looked at first: all that is done looks alike.
    order = sorted(parts, key=lambda part: (part.state == "done", part.part))
    shown = order[:SHOWN]
    columns = [
        Column("part", tuple(str(part.part) for part in shown), numeric=True, key=True),
        Column("job", tuple(part.job for part in shown)),
        Column("state", tuple(part.state for part in shown)),
        Column("records", tuple(str(part.records) for part in shown), numeric=True),
        Column("reason", tuple(part.reason for part in shown), breaks="/_"),
    ]
    print(
        f"{submission.id}: {submission.blueprint} by {submission.engine}, {plural(submission.cells, 'cell')}\n"
    )
    print(table(columns, output_width()))
    if len(order) > SHOWN:
        print(f"and {len(order) - SHOWN} more (--json has all)")
