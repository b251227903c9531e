"""How long a page over many records takes to write and to use, in a real browser. ``python benchmarks/page.py``

The records are made from the kept ones: their platforms, environments and verifications, with step times drawn at
random, so that no two runs are alike. The browser is Chromium without a screen; a click is timed in the page from
the event to the frame after the next.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from rows import ROOT, Row, finish, make_parser

from benchmarker import load_results
from tests.support.browser import chromium
from tests.support.records import make_record

GOAL_SECONDS, GOAL_BYTES, GOAL_SORT = 15.0, 10 << 20, 0.2
KEPT = ("platform", "environment", "verification", "monitors")
TIMED_CLICK = """(element) => new Promise((done) => {
  const begin = performance.now();
  element.click();
  requestAnimationFrame(() => setTimeout(() => done((performance.now() - begin) / 1e3)));
})"""


def records(count: int) -> Iterator[dict[str, Any]]:
    """Yield valid records that differ in framework, problem, time and steps."""
    kept = list(load_results(ROOT / "results", status="ok"))
    draw = random.Random(42)
    for index in range(count):
        like = kept[index % len(kept)]
        median = draw.lognormvariate(-4, 1)
        samples = [round(median * draw.lognormvariate(0, 0.05), 9) for _ in range(draw.randint(20, 600))]
        started = datetime(2026, 3, 1, tzinfo=timezone.utc) + timedelta(seconds=97 * index)
        record = make_record(
            samples,
            framework__name=like["framework"]["name"],
            framework__version=like["framework"]["version"],
            framework__full=like["framework"]["full"],
            problem__name=like["problem"]["name"],
            batch_size=2 ** draw.randint(0, 7),
            started_at=f"{started:%Y-%m-%dT%H:%M:%S.%fZ}",
            ended_at=f"{started + timedelta(seconds=60):%Y-%m-%dT%H:%M:%S.%fZ}",
        )
        yield {**record, **{name: like[name] for name in KEPT}}


def write_records(folder: Path, count: int) -> None:
    """Put the records into a folder."""
    for record in records(count):
        (folder / f"{record['id']}.json").write_text(json.dumps(record))


def timed_report(folder: Path, page: Path) -> float:
    """Return the seconds of the whole command."""
    command = [
        sys.executable,
        "-m",
        "benchmarker",
        "report",
        "--results",
        str(folder),
        "-o",
        str(page),
        "--force",
    ]
    begin = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


def in_the_browser(page: Path) -> tuple[float, float, float, float]:
    """Return seconds to load, of the first sort, of a later one, and of opening a run, each in a new window."""
    with chromium() as browser:
        window = browser.new_page(viewport={"width": 1300, "height": 900})
        begin = time.perf_counter()
        window.goto(page.as_uri())
        loaded = time.perf_counter() - begin
        heading = window.locator("#table thead button", has_text="median step")
        first, again = heading.evaluate(TIMED_CLICK), heading.evaluate(TIMED_CLICK)
        opened = window.locator("#table tbody a").nth(100).evaluate(TIMED_CLICK)
        window.close()
    return loaded, first, again, opened


def measure(count: int, rounds: int) -> list[Row]:
    """Make the page ``rounds`` times and use each in a new browser."""
    folder = Path(tempfile.mkdtemp(prefix="benchmarker-page-"))
    try:
        (folder / "records").mkdir()
        write_records(folder / "records", count)
        written, sizes, used = [], [], []
        for turn in range(rounds):
            print(f"round {turn + 1} of {rounds}", file=sys.stderr)
            written.append(timed_report(folder / "records", folder / "page.html"))
            sizes.append(float((folder / "page.html").stat().st_size))
            used.append(in_the_browser(folder / "page.html"))
    finally:
        shutil.rmtree(folder)
    loads, firsts, agains, opens = (list(column) for column in zip(*used))
    return [
        Row(f"report over {count:,} records", written, GOAL_SECONDS, "{:.2f} s".format),
        Row("size of the page", sizes, GOAL_BYTES, lambda value: f"{value / 2**20:.2f} MiB"),
        Row("loading it in Chromium", loads, None, "{:.3f} s".format),
        Row("first sort, click to frame", firsts, GOAL_SORT, "{:.3f} s".format),
        Row("second sort", agains, None, "{:.3f} s".format),
        Row("opening a run", opens, None, "{:.3f} s".format),
    ]


def main() -> int:
    """Measure and print."""
    parser: argparse.ArgumentParser = make_parser(__doc__)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=6, help="pages to make (default: %(default)s)")
    arguments = parser.parse_args()
    return finish(measure(arguments.records, arguments.rounds), arguments)


if __name__ == "__main__":
    sys.exit(main())
