"""Write one page about records: a summary, a table, pictures, and every run; a single file, without a network."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from benchmarker.cli.counting import reading
from benchmarker.cli.left_out import tell_left_out
from benchmarker.store import DEFAULT_FOLDER

_QUIET_SECONDS = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``report``."""
    parser.add_argument(
        "filters", nargs="*", metavar="KEY=VALUE", help="which records, e.g. framework=pytorch since=7d"
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help="where the page goes"
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument("--title", default="Benchmarks", help="heading of the page (default: %(default)s)")
    parser.add_argument(
        "--results",
        type=Path,
        default=DEFAULT_FOLDER,
        metavar="DIR",
        help="folder of records (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object: what was written")


class _Progress:
    """Tells on standard error what is done, once it takes longer than a moment."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._rewrites = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        if time.monotonic() - self._started > _QUIET_SECONDS:
            sys.stderr.write(f"\r\x1b[K{text}" if self._rewrites else f"{text}\n")
            sys.stderr.flush()

    def close(self) -> None:
        """Leave the terminal clean."""
        if self._rewrites:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def main(arguments: argparse.Namespace) -> int:
    """Write the page, and say where it is and how large."""
    from benchmarker.report.page import make_page
    from benchmarker.report.page.writing import check_place, write_page
    from benchmarker.report.units import size
    from benchmarker.results import collect
    from benchmarker.results.filters import parse_filters

    check_place(arguments.output, force=arguments.force)
    progress = _Progress()
    try:
        results = collect(arguments.results, parse_filters(arguments.filters), reading(quiet=arguments.json))
        page = make_page(
            results,
            title=arguments.title,
            files=[_name(path, arguments.results) for path in results.paths],
            left_out=[(_name(path, arguments.results), why) for path, why in results.damaged.items()],
            note=progress,
        )
        written = write_page(arguments.output, page.html, force=arguments.force)
    finally:
        progress.close()
    tell_left_out(results.damaged)
    if arguments.json:
        told = {"page": str(arguments.output), "bytes": written, "runs": page.runs}
        print(json.dumps({**told, "pictures": page.pictures, "left_out": dict(page.left_out)}))
        return 0
    counts = [_counted(page.runs, "run"), _counted(len(page.pictures), "picture")]
    if page.left_out:
        counts.append(f"{_counted(len(page.left_out), 'file')} left out and named in it")
    print(f"{arguments.output}: {', '.join(counts)}, {size(written)}")
    return 0


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _name(path: Path, folder: Path) -> str:
    """Return a file as it is found in the folder: where the folder lies is nobody's business."""
    return str(path.relative_to(folder)) if path.is_relative_to(folder) and path != folder else path.name
