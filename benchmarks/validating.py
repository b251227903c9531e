"""How long is `benchmarker validate` over 10,000 records, and how long was it with `jsonschema`?

Real records are copied with identifiers of their own. The way before is measured on some of them: `json`,
the finiteness of every number and `jsonschema` in pure Python, one process.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from command import timed
from rows import ROOT, Row, finish, make_parser, seconds

from benchmarker.records.schema import load_schema
from benchmarker.records.schema.consistency import inconsistencies
from benchmarker.records.schema.decoding import convert

GOAL = 2.0


def multiply(sources: Sequence[Path], folder: Path, count: int) -> int:
    """Write so many copies of real records, each with a new identifier, and return their size in bytes."""
    texts = [source.read_bytes() for source in sources]
    size = 0
    for index in range(count):
        identifier = f'"id": "{uuid.uuid4().hex}"'.encode()
        text = re.sub(rb'"id": "[^"]*"', identifier, texts[index % len(texts)], count=1)
        (folder / f"{index:06d}.json").write_bytes(text)
        size += len(text)
    return size


def _refuse(name: str) -> None:
    raise ValueError(name)


def seconds_before(files: Sequence[Path], validator: Any) -> float:
    """Return how long a record took with `jsonschema`."""
    started = time.perf_counter()
    for file in files:
        record = json.loads(file.read_bytes().decode(), parse_constant=_refuse)
        typed = convert(record)
        if typed is None or list(validator.iter_errors(record)) or list(inconsistencies(typed)):
            raise SystemExit(f"{file} is no valid record: there is nothing to compare")
    return (time.perf_counter() - started) / len(files)


def parse() -> argparse.Namespace:
    """Return the arguments."""
    parser = make_parser(__doc__)
    parser.add_argument("--records", type=Path, default=ROOT / "results", help="folder of real records")
    parser.add_argument("--count", type=int, default=10_000, help="records to validate")
    parser.add_argument("--before", type=int, default=40, help="of them for the way before")
    parser.add_argument("--rounds", type=int, default=6)
    return parser.parse_args()


def main() -> int:
    """Measure and print."""
    from jsonschema import Draft202012Validator

    arguments = parse()
    validator = Draft202012Validator(load_schema())
    command = [sys.executable, "-m", "benchmarker", "validate"]
    now, cpu, ratios = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        size = multiply(sorted(arguments.records.rglob("*.json")), Path(folder), arguments.count)
        print(f"{arguments.count} records of {size / arguments.count / 1e3:.0f} kB on average\n")
        some = sorted(Path(folder).iterdir())[: arguments.before]
        for _ in range(arguments.rounds):
            before = seconds_before(some, validator) * arguments.count
            done = timed([*command, folder], 1)
            now.append(done.wall)
            cpu.append(done.cpu)
            ratios.append(before / done.wall)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    rows = [
        Row(f"validate {arguments.count} records", now, GOAL, seconds),
        Row("CPU time of that", cpu, None, seconds),
        Row("jsonschema, one process / validate", ratios, None, lambda value: f"{value:.0f}"),
        Row("largest process of validate", [peak], None, lambda value: f"{value:.0f} MiB"),
    ]
    return finish(rows, arguments)


if __name__ == "__main__":
    sys.exit(main())
