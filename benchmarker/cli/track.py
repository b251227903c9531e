"""Show how a number changed over time on each machine: its points, its level, and where the level changed."""

from __future__ import annotations

import argparse
import json

from benchmarker.cli.counter import counted
from benchmarker.cli.records import add_filters, add_results, chosen_records
from benchmarker.cli.terminal import output_width, print_text
from benchmarker.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``track``."""
    add_filters(parser)
    add_results(parser)
    parser.add_argument(
        "--include-contaminated", action="store_true", help="also count runs that the machine disturbed"
    )
    parser.add_argument("--json", action="store_true", help="print all points as JSON")


def main(arguments: argparse.Namespace) -> int:
    """Print the histories among the records.

    Raises
    ------
    UsageError
        If no record has a number.
    """
    from benchmarker.analysis.history.points import histories
    from benchmarker.analysis.text.history import histories_json, histories_text

    records = chosen_records(arguments)
    found = histories(
        counted(records, len(records), "records read"), include_contaminated=arguments.include_contaminated
    )
    if not found:
        raise UsageError(
            f"a history needs records that ended well and whose steps were timed, and none of the {len(records)} "
            f"records asked for in '{arguments.results}' did"
        )
    if arguments.json:
        print(json.dumps(histories_json(found), indent=2, ensure_ascii=False))
    else:
        print_text(histories_text(found, width=output_width()))
    return 0
