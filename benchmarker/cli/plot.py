"""Draw a picture of records; 'benchmarker plot --list' shows the kinds of pictures."""

from __future__ import annotations

import argparse
import json
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarker import registry
from benchmarker.cli.counter import taking
from benchmarker.cli.records import add_filters, add_results, chosen_records
from benchmarker.cli.run_options import add_settings, single_settings
from benchmarker.cli.terminal import output_width, print_json
from benchmarker.cli.values import file_path
from benchmarker.errors import UsageError

if TYPE_CHECKING:
    from benchmarker.records.schema import Record


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``plot``."""
    parser.add_argument("kind", nargs="?", metavar="KIND", help="what to draw; see --list")
    add_filters(parser)
    add_results(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=file_path,
        metavar="FILE",
        help="a .svg, .png or .pdf file; default: KIND.svg in this folder",
    )
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")
    add_settings(parser, "an option of the kind; see --list")
    parser.add_argument("--list", action="store_true", help="show the kinds of pictures and their options")
    parser.add_argument("--json", action="store_true", help="print what would be drawn, and draw nothing")


def main(arguments: argparse.Namespace) -> int:
    """Write the picture, and print where it is."""
    from benchmarker.analysis import charts

    if arguments.list and arguments.kind is not None:
        raise UsageError(f"--list shows all kinds of pictures; give it without '{arguments.kind}'")
    if arguments.list:
        print(_kinds_json() if arguments.json else _kinds_text())
        return 0
    if arguments.kind is None:
        raise UsageError(f"plot needs a kind of picture; known: {', '.join(charts.kinds())}")
    options = charts.parse_options(arguments.kind, single_settings(arguments.set, "plot"))
    if arguments.json:
        print_json(asdict(charts.chart(arguments.kind, _records(arguments), **options)))
        return 0
    from benchmarker.analysis.charts.saving import check_target, save

    target = arguments.output or Path(f"{arguments.kind}.svg")
    check_target(target, force=arguments.force)
    save(charts.draw(arguments.kind, _records(arguments), **options), target, force=arguments.force)
    print(target)
    return 0


def _records(arguments: argparse.Namespace) -> list[Record]:
    found = chosen_records(arguments)
    return list(taking(found, len(found), "records read", quiet=arguments.json))


def _kinds_json() -> str:
    from benchmarker.analysis.charts import kind_options, kinds

    rows = [
        {
            "kind": kind,
            "shows": registry.chart(kind).description,
            "options": [asdict(option) for option in kind_options(kind)],
        }
        for kind in kinds()
    ]
    return json.dumps(rows, indent=2)


def _kinds_text() -> str:
    from benchmarker.analysis.charts import kind_options, kinds

    lines, indent = [], max(map(len, kinds()), default=0) + 1
    for kind in kinds():
        lines.append(f"{kind:<{indent}}{registry.chart(kind).description}")
        for option in kind_options(kind):
            usual = "" if option.default is None else f" (default: {_written(option.default)})"
            lines.append(f"{'':{indent}}--set {option.name}=...: {option.takes}{usual}")
    wrapped = (textwrap.wrap(line, output_width(), subsequent_indent=" " * (indent + 2)) for line in lines)
    return "\n".join(line for part in wrapped for line in part)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
