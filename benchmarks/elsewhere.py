"""How long 100,000 records of a store elsewhere take to be read: one by one, by index objects, and again.

The store is a folder of this machine behind a file system of fsspec in which each request takes as long as one
to a store does (``--latency``), and listing takes a request for each 1,000 objects, as with S3. Records are those
of ``reading.py``. Each step is a fresh process; the second machine is a fresh cache folder.
``python benchmarks/elsewhere.py`` (about ten minutes, and 15 GB of temporary space)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from reading import make_records, templates
from rows import ROOT, Row, finish, make_parser, ratio, seconds

PROGRAM = """
import json, sys, time
import fsspec
from fsspec.implementations.local import LocalFileSystem
home, latency, what = sys.argv[1], float(sys.argv[2]), sys.argv[3]
requests = 0

class Distant(LocalFileSystem):
    protocol = "distant"

    @classmethod
    def _strip_protocol(cls, path):
        return path.removeprefix("distant://").rstrip("/")

    def _wait(self, count=1):
        global requests
        requests += count
        time.sleep(count * latency)

    def find(self, path, **options):
        found = super().find(path, **options)
        self._wait(-(-len(found) // 1000))
        return found

    def cat_file(self, path, **options):
        self._wait()
        return super().cat_file(path, **options)

    def pipe_file(self, path, value, **options):
        self._wait()
        self.makedirs(path.rpartition("/")[0], exist_ok=True)
        super().pipe_file(path, value, **options)

fsspec.register_implementation("distant", Distant)
from benchmarker import load_results
from benchmarker.records import places
from benchmarker.records.remote.opening import open_place

place = places.place_at(open_place("distant://" + home))
began = time.perf_counter()
if what == "index":
    place.index()
else:
    place.refresh()
told = {"seconds": time.perf_counter() - began, "requests": requests}
if what == "table":
    results = load_results(place.folder)
    told["seconds"] = time.perf_counter() - began
    told["records"] = len(results)
print(json.dumps(told))
"""


def step(what: str, store: Path, home: Path, latency: float) -> dict[str, float]:
    """Return what a step tells that a fresh process makes."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "BENCHMARKER_HOME": str(home)}
    command = [sys.executable, "-c", PROGRAM, str(store), str(latency), what]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    print(f"{what}: {found}", file=sys.stderr)
    return found


def whole(value: float) -> str:
    """Write a number of requests."""
    return f"{value:,.0f}"


def rows(store: Path, count: int, latency: float) -> list[Row]:
    """Read the store in each way."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        singly = step("read", store, Path(first), latency)
        indexing = step("index", store, Path(first), latency)
        by_index = step("read", store, Path(second), latency)
        again = step("read", store, Path(second), latency)
        table = step("table", store, Path(second), latency)
        shown = step("table", store, Path(second), latency)
    assert table["records"] == shown["records"] == count
    return [
        Row(f"{count:,} records, one by one", [singly["seconds"]], None, seconds),
        Row("requests of that", [singly["requests"]], None, whole),
        Row("making the index objects", [indexing["seconds"]], None, seconds),
        Row("another machine, by index objects", [by_index["seconds"]], None, seconds),
        Row("requests of that", [by_index["requests"]], 500, whole),
        Row(
            "by index objects, as a share of one by one",
            [by_index["seconds"] / singly["seconds"]],
            0.5,
            ratio,
        ),
        Row("again, with nothing new", [again["seconds"]], 10, seconds),
        Row("again and into a table, the first time", [table["seconds"]], None, seconds),
        Row("again and into a table", [shown["seconds"]], None, seconds),
    ]


def main() -> int:
    """Make the records, read them and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--latency", type=float, default=0.02, help="seconds of a request")
    parser.add_argument("--source", type=Path, default=ROOT / "results", help="real records to make them of")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        total = make_records(Path(folder), arguments.records, templates(arguments.source))
        print(f"{arguments.records} records of {total / 2**30:.1f} GiB", file=sys.stderr)
        found = rows(Path(folder), arguments.records, arguments.latency)
    return finish(found, arguments)


if __name__ == "__main__":
    sys.exit(main())
