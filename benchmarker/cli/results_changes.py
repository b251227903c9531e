"""The actions of ``results`` that change records: merge, prune and import."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarker.cli.counter import telling
from benchmarker.cli.records import (
    SHOWN,
    add_action,
    add_filters,
    chosen_records,
    tell_brought,
    with_reasons,
)
from benchmarker.cli.terminal import print_json
from benchmarker.cli.values import file_path, results_place, whole
from benchmarker.errors import UsageError, plural, printable
from benchmarker.records import places


def add_changes(actions: Any) -> None:
    """Add the actions and their options."""
    _add_merge(actions)
    _add_prune(actions)
    _add_import(actions)


def _add_merge(actions: Any) -> None:
    parser = add_action(actions, "merge", "add the records of several folders to one, each once", reads=False)
    parser.add_argument(
        "sources", nargs="+", type=results_place, metavar="DIR", help="folders of records, or record files"
    )
    parser.add_argument(
        "--into", required=True, type=results_place, metavar="DIR", help="folder to add them to"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be added")


def _add_prune(actions: Any) -> None:
    parser = add_action(actions, "prune", "remove records and their logs; without --yes, only say which")
    add_filters(parser)
    parser.add_argument(
        "--status", metavar="STATUS,...", help="only those with this outcome, e.g. failed,crashed"
    )
    parser.add_argument(
        "--older-than", metavar="AGE", help="only those that started before then, e.g. 30d or 2026-11-01"
    )
    parser.add_argument(
        "--keep",
        type=whole(0),
        metavar="N",
        help="keep the N newest of the same work, framework, machine and outcome",
    )
    parser.add_argument("--yes", action="store_true", help="really remove them")


def _add_import(actions: Any) -> None:
    parser = add_action(
        actions, "import", "import results of the earlier benchmarker (Drozd & Matsuoka)", reads=False
    )
    parser.add_argument(
        "sources", nargs="+", type=file_path, metavar="FILE", help="its JSON files, or folders of them"
    )
    parser.add_argument(
        "--into", type=results_place, default=Path("results"), metavar="DIR", help="default: results"
    )


def _merge(arguments: argparse.Namespace) -> int:
    from benchmarker.analysis.results.merge import carry_out, plan_merge

    merge = plan_merge(arguments.sources, arguments.into, telling("records read"))
    if merge.new and not arguments.dry_run:
        places.check_writable(arguments.into)
    added = {} if arguments.dry_run else carry_out(merge, telling("records added"))
    if arguments.json:
        listed = [
            {"file": str(file), "record": str(added[file]) if added else None, "folder": str(folder)}
            for file, folder in merge.new.items()
        ]
        print_json(
            {
                "dry_run": arguments.dry_run,
                "added": listed,
                "known": list(map(str, merge.known)),
                "damaged": with_reasons(merge.damaged),
            }
        )
    else:
        would = "would be added" if arguments.dry_run else "added"
        done = f"{plural(len(merge.new), 'record')} {would} to '{places.shown(arguments.into)}'"
        tell_brought(done, len(merge.known), merge.damaged, "damaged")
    return 1 if merge.damaged else 0


def _prune(arguments: argparse.Namespace) -> int:
    from benchmarker.analysis.results.prune import PruneRule, find_unwanted, prune
    from benchmarker.records.timestamps import beginning

    words = [f"status={arguments.status}"] if arguments.status else []
    if not (words or arguments.filters or arguments.older_than or arguments.keep is not None):
        raise UsageError(
            "prune removes only what is asked for: give filters, --status, --older-than or --keep, got none"
        )
    if places.place_at(arguments.results):
        raise UsageError(
            f"prune removes files of this machine, got '{places.shown(arguments.results)}'; remove objects with the "
            "store's own client"
        )
    before = beginning(arguments.older_than) if arguments.older_than else None
    unwanted = PruneRule(before, arguments.keep)
    found = find_unwanted(chosen_records(arguments, *words), unwanted)
    if arguments.yes:
        prune(found, arguments.results)
    if arguments.json:
        listed = [
            {
                "record": str(item.record),
                "log": str(item.log) if item.log else None,
                "trace": str(item.trace) if item.trace else None,
                "bytes": item.size_bytes,
            }
            for item in found
        ]
        print_json({"removed": arguments.yes, "records": listed})
        return 0
    from benchmarker.analysis.text.units import size

    _print_some([str(item.record) for item in found])
    logs = sum(item.log is not None for item in found)
    what = (
        f"{plural(len(found), 'record')} and {plural(logs, 'log')} ({size(sum(i.size_bytes for i in found))})"
    )
    print(f"{what} removed" if arguments.yes else f"{what} would be removed; --yes removes them")
    return 0


def _import(arguments: argparse.Namespace) -> int:
    from benchmarker.analysis.legacy import import_results

    outcome = import_results(arguments.sources, arguments.into, telling("records imported"))
    if arguments.json:
        added = [{"file": str(file), "record": str(record)} for file, record in outcome.added.items()]
        known, left = list(map(str, outcome.known)), with_reasons(outcome.left)
        print_json({"imported": added, "known": known, "left": left})
    else:
        done = f"{plural(len(outcome.added), 'record')} imported into '{places.shown(arguments.into)}'"
        tell_brought(done, len(outcome.known), outcome.left, "left")
    return 1 if outcome.left else 0


def _print_some(lines: list[str]) -> None:
    for line in lines[:SHOWN]:
        print(printable(line))
    if len(lines) > SHOWN:
        print(f"and {len(lines) - SHOWN} more (--json names all)")


CHANGES: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "merge": _merge,
    "prune": _prune,
    "import": _import,
}
"""What runs each action."""
