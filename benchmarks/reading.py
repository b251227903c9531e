"""How long a large folder of records takes to become a frame, and how much memory: the first time, and again.

Records are made of real ones with identifiers, times and samples of their own, in the store's own format, and
each load is a fresh process. Beside them stands what one would write without benchmarker: a loop of ``json.load``
and ``pandas.json_normalize`` over all, which for 100,000 whole records does not fit into memory; so it takes a part
of the same files, in the same pair, and a ratio is that of the times for one record. The time of imports is in the
loads and not in the loop. The folder takes some gigabytes and is deleted.
``python benchmarks/reading.py`` (Linux; about five minutes)
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rows import ROOT, Row, finish, make_parser, ratio, seconds

from benchmarker.records.migration import newest
from benchmarker.records.store import format_record, iter_records

VARIANTS = 8
"""Sets of samples that are made of each real record."""
FOLDER_OF = 1000
"""Records of a folder."""
BEGINNING = datetime(2026, 1, 1)
FORM = "%Y-%m-%dT%H:%M:%S.%fZ"
_SHIFTING = ("load", "memory")
_ID, _START, _END = "made-identifier", "made-start", "made-end"

LOAD = """
import json, resource, sys, time
begin = time.perf_counter()
import benchmarker
results = benchmarker.load_results(sys.argv[1])
frame = results.to_frame()
took = time.perf_counter() - begin
assert len(frame) == int(sys.argv[2]) and not results.damaged, (len(frame), dict(results.damaged))
with open("/proc/self/status") as stream:
    own = [int(line.split()[1]) for line in stream if line.startswith("VmHWM")][0]
helper = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps({"seconds": took, "own_mib": own / 1024, "helper_mib": helper / 1024}))
"""
PLAIN = """
import json, pathlib, sys, time
import pandas
begin = time.perf_counter()
files = sorted(pathlib.Path(sys.argv[1]).rglob("*.json"))[: int(sys.argv[2])]
records = []
for file in files:
    with open(file, encoding="utf-8") as stream:
        records.append(json.load(stream))
frame = pandas.json_normalize(records)
took = time.perf_counter() - begin
assert len(frame) == int(sys.argv[2])
print(json.dumps({"seconds": took}))
"""


def templates(source: Path) -> list[bytes]:
    """Return texts of records like the real ones, whose identifiers and times are still to be filled in."""
    found = []
    draw = random.Random(0)
    for _, written in iter_records(source):
        for _ in range(VARIANTS):
            record = {**newest(written), "id": _ID, "started_at": _START, "ended_at": _END}
            samples = record["timing"]["samples_seconds"]
            moved = [seconds * draw.uniform(0.9, 1.1) for seconds in samples or ()] or samples
            record["timing"] = {**record["timing"], "samples_seconds": moved}
            # Nor are load and free memory of a machine twice the same.
            platform = record["platform"]
            shifting = {name: _moved(platform[name], draw) for name in _SHIFTING if name in platform}
            record["platform"] = {**platform, **shifting}
            found.append(format_record(record).encode("utf-8", "backslashreplace"))
    return found


def _moved(value: Any, draw: random.Random) -> Any:
    """Return a value with other numbers in it."""
    if isinstance(value, dict):
        return {name: _moved(member, draw) for name, member in value.items()}
    if isinstance(value, list):
        return [_moved(item, draw) for item in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return type(value)(value * draw.uniform(0.9, 1.1))


def make_records(folder: Path, count: int, texts: Sequence[bytes]) -> int:
    """Write records; return their bytes."""
    total = 0
    for number in range(count):
        below = folder / f"{number // FOLDER_OF:04}"
        below.mkdir(exist_ok=True)
        start = BEGINNING + timedelta(seconds=97 * number)
        name = f"{number:08}-{number * 2654435761 % 2**32:08x}"
        data = texts[number % len(texts)].replace(_ID.encode(), name.encode(), 1)
        data = data.replace(_START.encode(), start.strftime(FORM).encode(), 1)
        data = data.replace(_END.encode(), (start + timedelta(seconds=60)).strftime(FORM).encode(), 1)
        total += (below / f"{name}.json").write_bytes(data)
    return total


def run(code: str, home: Path, *words: object) -> dict[str, float]:
    """Return what a program says in a fresh process."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "BENCHMARKER_HOME": str(home)}
    command = [sys.executable, "-c", code, *map(str, words)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def mebibytes(value: float) -> str:
    """Write an amount of memory."""
    return f"{value:.0f} MiB"


def rows(folder: Path, count: int, part: int, pairs: int) -> list[Row]:
    """Load the folder in each way, one after the other in each pair."""
    first, again, plain = [], [], []
    for _ in range(pairs):
        with tempfile.TemporaryDirectory() as home:
            plain.append(run(PLAIN, Path(home), folder, part)["seconds"] / part * count)
            first.append(run(LOAD, Path(home), folder, count))
            again.append(run(LOAD, Path(home), folder, count))
    times = [[found["seconds"] for found in loads] for loads in (first, again)]
    shares = [[taken / loop for taken, loop in zip(loads, plain)] for loads in times]
    return [
        Row(f"json.load and json_normalize, {count} records by {part}", plain, None, seconds),
        Row("first load into a frame", times[0], None, seconds),
        Row("second load into a frame", times[1], None, seconds),
        Row("first load, as a share of the loop", shares[0], 1 / 5, ratio),
        Row("second load, as a share of the loop", shares[1], 1 / 50, ratio),
        Row("peak memory, first load", [found["own_mib"] for found in first], 1536, mebibytes),
        Row("peak memory, second load", [found["own_mib"] for found in again], 1536, mebibytes),
        Row("peak memory of a helper", [found["helper_mib"] for found in first], 1536, mebibytes),
    ]


def main() -> int:
    """Make the records, load them and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--part", type=int, default=2000, help="records that the plain loop takes")
    parser.add_argument("--pairs", type=int, default=1)
    parser.add_argument("--source", type=Path, default=ROOT / "results", help="real records to make them of")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        total = make_records(Path(folder), arguments.records, templates(arguments.source))
        print(f"{arguments.records} records of {total / 2**30:.1f} GiB", file=sys.stderr)
        part = min(arguments.part, arguments.records)
        found = rows(Path(folder), arguments.records, part, arguments.pairs)
    return finish(found, arguments)


if __name__ == "__main__":
    sys.exit(main())
