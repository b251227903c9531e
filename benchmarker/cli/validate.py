"""Check records against the schema, and name each fault with its JSON path."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarker.cli.counter import Count
from benchmarker.cli.terminal import print_text
from benchmarker.cli.values import results_place
from benchmarker.errors import plural
from benchmarker.records.schema import Fault
from benchmarker.records.store import DEFAULT_FOLDER, record_files
from benchmarker.records.validation import check_files

_SHOWN = 20
"""Faults printed of one file; ``--json`` has them all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "paths",
        nargs="*",
        type=results_place,
        default=[DEFAULT_FOLDER],
        metavar="PATH",
        help=f"record files, or folders of them (default: {DEFAULT_FOLDER})",
    )
    parser.add_argument("--json", action="store_true", help="print all faults as JSON")


def main(arguments: argparse.Namespace) -> int:
    """Check records.

    Returns
    -------
    int
        0 if all records are valid, else 1.

    Raises
    ------
    UsageError
        If a path does not exist.
    """
    # All paths are looked at before the first is read, so that a wrong one is told at once.
    files = list(dict.fromkeys(file for path in arguments.paths for file in record_files(path)))
    faults = check_files(files, Count(len(files), "records checked"))
    if arguments.json:
        print(_as_json(faults))
    else:
        print_text(_as_text(faults))
    return 1 if any(faults.values()) else 0


def _as_json(faults: Mapping[Path, Sequence[Fault]]) -> str:
    listed = [
        {"file": str(file), "path": fault.path, "message": fault.message}
        for file, found in faults.items()
        for fault in found
    ]
    return json.dumps({"records": len(faults), "faults": listed}, indent=2, ensure_ascii=False)


def _as_text(faults: Mapping[Path, Sequence[Fault]]) -> str:
    lines = []
    for file, found in faults.items():
        lines += [f"{file}: {fault}" for fault in found[:_SHOWN]]
        if len(found) > _SHOWN:
            lines.append(f"{file}: and {len(found) - _SHOWN} more faults (--json shows all)")
    bad = sum(map(bool, faults.values()))
    verdict = f"{bad} with faults" if bad else "all valid" if faults else "nothing to check"
    return "\n".join([*lines, f"{plural(len(faults), 'record')}: {verdict}"])
