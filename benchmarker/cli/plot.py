"""Draw a picture of records; 'benchmarker plot --list' tells the kinds of pictures."""

from __future__ import annotations

import argparse
import json
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarker.cli.counting import reading, taking
from benchmarker.cli.left_out import tell_left_out
from benchmarker.cli.run_options import setting, unique_settings
from benchmarker.cli.terminal import output_width
from benchmarker.errors import UsageError
from benchmarker.store import DEFAULT_FOLDER

if TYPE_CHECKING:
    from benchmarker.schema import Record


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``plot``."""
    parser.add_argument("kind", nargs="?", metavar="KIND", help="what to draw, see --list")
    parser.add_argument(
        "filters", nargs="*", metavar="KEY=VALUE", help="which records, e.g. problem=resnet50 since=7d"
    )
    parser.add_argument(
        "--results", type=Path, default=DEFAULT_FOLDER, metavar="DIR", help="default: %(default)s"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="a .svg, .png or .pdf file; default: KIND.svg in this folder",
    )
    parser.add_argument("--force", action="store_true", help="replace the file if there is one")
    parser.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the kind, see --list",
    )
    parser.add_argument("--list", action="store_true", help="show the kinds of pictures and their options")
    parser.add_argument("--json", action="store_true", help="print what would be drawn, and draw nothing")


def main(arguments: argparse.Namespace) -> int:
    """Write the picture, and print where it is."""
    from benchmarker import plots

    if arguments.list:
        print(_kinds_json() if arguments.json else _kinds_text())
        return 0
    if arguments.kind is None:
        raise UsageError(f"plot needs a kind of picture; known: {', '.join(plots.KINDS)}")
    options = plots.parse_options(arguments.kind, _settings(arguments))
    if arguments.json:
        print(json.dumps(asdict(plots.chart(arguments.kind, _records(arguments), **options)), indent=2))
        return 0
    from benchmarker.plots.saving import check_target, save

    target = arguments.output or Path(f"{arguments.kind}.svg")
    check_target(target, force=arguments.force)
    save(plots.draw(arguments.kind, _records(arguments), **options), target, force=arguments.force)
    print(target)
    return 0


def _records(arguments: argparse.Namespace) -> list[Record]:
    from benchmarker.results import collect
    from benchmarker.results.filters import parse_filters

    found = collect(arguments.results, parse_filters(arguments.filters), reading(quiet=arguments.json))
    tell_left_out(found.damaged)
    return list(taking(found, len(found), "records read", quiet=arguments.json))


def _settings(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the value of each ``--set``."""
    values = {}
    for name, choice in unique_settings(arguments.set).items():
        if len(choice) > 1:
            raise UsageError(f"plot takes one value of '{name}', got {', '.join(choice)}")
        values[name] = choice[0]
    return values


def _kinds_json() -> str:
    from benchmarker.plots import KINDS, kind_options

    kinds = [
        {"kind": kind, "shows": shows, "options": [asdict(option) for option in kind_options(kind)]}
        for kind, shows in KINDS.items()
    ]
    return json.dumps(kinds, indent=2)


def _kinds_text() -> str:
    from benchmarker.plots import KINDS, kind_options

    lines = []
    for kind, shows in KINDS.items():
        lines.append(f"{kind:<12}{shows}")
        for option in kind_options(kind):
            usual = "" if option.default is None else f" (default: {_written(option.default)})"
            lines.append(f"{'':12}--set {option.name}=...: {option.takes}{usual}")
    wrapped = (textwrap.wrap(line, output_width(), subsequent_indent=" " * 14) for line in lines)
    return "\n".join(line for part in wrapped for line in part)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
