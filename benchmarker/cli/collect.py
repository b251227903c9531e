"""Bring the records of submitted jobs home into the results folder, each once and without overwriting any."""

from __future__ import annotations

import argparse

from benchmarker.cli.counter import telling
from benchmarker.cli.records import add_results, tell_brought, with_reasons
from benchmarker.cli.terminal import print_json
from benchmarker.errors import plural


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("submission", nargs="?", metavar="ID", help="one submission; default: all")
    add_results(parser, elsewhere=False)
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")


def main(arguments: argparse.Namespace) -> int:
    """Collect and return the exit status: 1 if a file had to be left out."""
    from benchmarker.analysis.results.merge import carry_out, plan_merge
    from benchmarker.orchestration.submission.collection import record_folders

    sources = record_folders(arguments.results, arguments.submission)
    merge = plan_merge(sources, arguments.results, telling("records read"))
    added = carry_out(merge, telling("records added"))
    if arguments.json:
        listed = [{"file": str(file), "record": str(record)} for file, record in added.items()]
        known, damaged = list(map(str, merge.known)), with_reasons(merge.damaged)
        print_json({"added": listed, "known": known, "damaged": damaged})
    else:
        done = f"{plural(len(added), 'record')} collected into '{arguments.results}'"
        tell_brought(done, len(merge.known), merge.damaged, "damaged")
    return 1 if merge.damaged else 0
