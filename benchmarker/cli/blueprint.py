"""Check blueprint files, or print the JSON Schema that editors use for them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from benchmarker.cli.terminal import print_json, tell
from benchmarker.cli.values import file_path
from benchmarker.errors import UsageError, plural


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of ``blueprint``."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="name the line, field and value of everything that is wrong")
    check.add_argument(
        "files", nargs="+", type=file_path, metavar="FILE", help=".toml, or .py, which is executed"
    )
    check.add_argument("--json", action="store_true", help="print JSON")
    actions.add_parser("schema", help="print the JSON Schema of TOML blueprints")


def main(arguments: argparse.Namespace) -> int:
    """Run the action and return its exit status."""
    if arguments.action == "schema":
        from benchmarker.experiment.blueprint.json_schema import blueprint_schema

        print_json(blueprint_schema())
        return 0
    return _check(arguments)


def _check(arguments: argparse.Namespace) -> int:
    """Check every file; one that cannot be read is told, and the others are checked all the same."""
    from benchmarker.experiment.blueprint.loading import check

    rows: list[dict[str, Any]] = []
    status = 0
    for path in arguments.files:
        try:
            found, runs = check(path)
        except UsageError as error:
            status = error.exit_status
            rows.append(_row(path, 0, [{"line": None, "field": "", "message": str(error)}]))
            tell(str(error))
            continue
        faults = [{"line": fault.line, "field": fault.field, "message": fault.message} for fault in found]
        rows.append(_row(path, runs, faults))
        if arguments.json:
            continue
        for fault in found:
            print(fault)
        if not found:
            print(f"{path}: correct, {plural(runs, 'run')}")
    if arguments.json:
        print_json(rows)
    return status or int(any(row["faults"] for row in rows))


def _row(path: Path, runs: int, faults: list[dict[str, Any]]) -> dict[str, Any]:
    return {"file": str(path), "runs": runs, "faults": faults}
