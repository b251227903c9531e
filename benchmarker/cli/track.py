"""Show how a number changed over time, on each machine: its points, its level, and where that changed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarker.cli.counting import counted, reading
from benchmarker.cli.left_out import tell_left_out
from benchmarker.cli.terminal import output_width
from benchmarker.errors import UsageError
from benchmarker.store import DEFAULT_FOLDER


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``track``."""
    parser.add_argument(
        "filters",
        nargs="*",
        metavar="KEY=VALUE",
        help="which records, e.g. problem=resnet50 framework=pytorch since=30d",
    )
    parser.add_argument(
        "--results", type=Path, default=DEFAULT_FOLDER, metavar="DIR", help="default: %(default)s"
    )
    parser.add_argument("--json", action="store_true", help="print all points as JSON")


def main(arguments: argparse.Namespace) -> int:
    """Print the histories among the records.

    Raises
    ------
    UsageError
        If no record has a number.
    """
    from benchmarker.history import histories
    from benchmarker.report.history import histories_json, histories_text
    from benchmarker.results import collect
    from benchmarker.results.filters import parse_filters

    records = collect(arguments.results, parse_filters(arguments.filters), reading(quiet=arguments.json))
    tell_left_out(records.damaged)
    found = histories(counted(records, len(records), "records read"))
    if not found:
        raise UsageError(
            f"a history needs records that ended well and whose steps were timed, and none of the {len(records)} "
            f"records asked for in '{arguments.results}' did"
        )
    if arguments.json:
        print(json.dumps(histories_json(found), indent=2, ensure_ascii=False))
    else:
        print(histories_text(found, width=output_width()))
    return 0
