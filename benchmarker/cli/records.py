"""Which records a command is about: its options, the records, and the files that were left out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.cli.counter import reading
from benchmarker.cli.values import file_path, results_place
from benchmarker.errors import printable

if TYPE_CHECKING:
    from benchmarker.analysis.results import Results

SHOWN = 20
"""Files named one by one."""


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add the words that choose records."""
    parser.add_argument(
        "filters",
        nargs="*",
        default=[],
        metavar="KEY=VALUE",
        help="only records with these fields, e.g. framework=pytorch 'problem=resnet*' batch_size=8..64 status!=ok "
        "since=7d; a key is a dotted name, commas separate alternatives",
    )


def add_results(parser: argparse.ArgumentParser, *, elsewhere: bool = True) -> None:
    """Add the option that names the folder of records, which may be an address unless ``elsewhere`` is false."""
    parser.add_argument(
        "--results",
        type=results_place if elsewhere else file_path,
        default=Path("results"),
        metavar="DIR",
        help=f"folder of records{', or an address such as s3://bucket/folder' if elsewhere else ''}; default: results",
    )


def add_action(
    actions: Any, name: str, text: str, *, reads: bool = True, json_lines: bool = False
) -> argparse.ArgumentParser:
    """Add an action of ``results`` with what most have, and return its parser."""
    described = f"{text[0].upper()}{text[1:]}."
    parser: argparse.ArgumentParser = actions.add_parser(name, help=text, description=described)
    if reads:
        add_results(parser)
    form = "JSON lines, one object per row," if json_lines else "JSON"
    parser.add_argument("--json", action="store_true", help=f"print {form} and nothing else")
    return parser


def chosen_records(arguments: argparse.Namespace, *words: str) -> Results:
    """Return the records of the folder that pass the filters and ``words``; what cannot be read is named."""
    from benchmarker.analysis.results import collect
    from benchmarker.analysis.results.filters import parse_filters

    filters = parse_filters([*arguments.filters, *words])
    found = collect(arguments.results, filters, reading(quiet=arguments.json))
    tell_skipped(found.damaged)
    return found


def tell_skipped(files: Mapping[Path, str]) -> None:
    """Name files and what is wrong with them on standard error."""
    for path, reason in list(files.items())[:SHOWN]:
        print(printable(f"left out: {path}: {reason}"), file=sys.stderr)
    if len(files) > SHOWN:
        print(f"left out: {len(files) - SHOWN} more", file=sys.stderr)


def with_reasons(files: Mapping[Path, str]) -> list[dict[str, str]]:
    """Return files and what is wrong with them as JSON values."""
    return [{"file": str(file), "reason": reason} for file, reason in files.items()]


def tell_brought(done: str, known: int, left: Mapping[Path, str], why: str) -> None:
    """Say what was done with records, how many were there already, and which files were left out and why."""
    print(f"{done}, {known} there already, {len(left)} {why}")
    tell_skipped(left)
