"""Write one page about records: a summary, a table, pictures and every run, in a single file that works offline."""

from __future__ import annotations

import argparse
import json
import time

from benchmarker.cli.counter import reading
from benchmarker.cli.display import make_display
from benchmarker.cli.records import add_filters, add_results, tell_skipped
from benchmarker.cli.terminal import tell
from benchmarker.cli.values import file_path
from benchmarker.errors import plural

_QUIET_SECONDS = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``report``."""
    add_filters(parser)
    parser.add_argument(
        "-o", "--output", type=file_path, required=True, metavar="FILE", help="file to write the page to"
    )
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")
    parser.add_argument("--title", default="Benchmarks", help="heading of the page (default: %(default)s)")
    add_results(parser)
    parser.add_argument("--json", action="store_true", help="print what was written, as one JSON object")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


class _Progress:
    """Tells what is done, once it takes longer than a moment."""

    def __init__(self, *, quiet: bool) -> None:
        self._started = time.monotonic()
        self._display = make_display(quiet=quiet)

    def __call__(self, text: str) -> None:
        if time.monotonic() - self._started > _QUIET_SECONDS:
            self._display.note(text)

    def close(self) -> None:
        """Leave the terminal clean."""
        self._display.close()


def main(arguments: argparse.Namespace) -> int:
    """Write the page, and say where it is and how large."""
    from benchmarker.analysis.page import make_page
    from benchmarker.analysis.page.build import check_place, write_page
    from benchmarker.analysis.results import collect
    from benchmarker.analysis.results.filters import parse_filters
    from benchmarker.analysis.text.units import size
    from benchmarker.records.files import name_in

    check_place(arguments.output, force=arguments.force)
    quiet = arguments.quiet or arguments.json
    progress = _Progress(quiet=quiet)
    try:
        results = collect(arguments.results, parse_filters(arguments.filters), reading(quiet=quiet))
        page = make_page(
            results,
            title=arguments.title,
            files=[name_in(path, arguments.results) for path in results.paths],
            skipped=[(name_in(path, arguments.results), why) for path, why in results.damaged.items()],
            note=progress,
        )
        written = write_page(arguments.output, page.html, force=arguments.force)
    finally:
        progress.close()
    tell_skipped(results.damaged)
    for sentence in page.broken:
        tell(sentence)
    if arguments.json:
        summary = {"page": str(arguments.output), "bytes": written, "runs": page.runs}
        print(
            json.dumps(
                {**summary, "pictures": page.pictures, "left_out": dict(page.skipped), "broken": page.broken}
            )
        )
        return 0
    counts = [plural(page.runs, "run"), plural(len(page.pictures), "picture")]
    if page.skipped:
        counts.append(f"{plural(len(page.skipped), 'file')} left out and named in it")
    print(f"{arguments.output}: {', '.join(counts)}, {size(written)}")
    return 0
