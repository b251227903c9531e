"""How long does someone new wait: from a clone to a believed comparison, from nothing to a checked framework plug-in?

Runs the commands of the README and of the tutorials in a fresh clone, with a fresh virtual environment and a fresh
folder of frameworks' environments, and times each. Reading and writing are not counted. Downloads are, unless the
installer has them already, so the numbers depend on the network.
``python benchmarks/outsider.py``
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rows import ROOT, Row, finish, make_parser, seconds

GOAL = 600.0
"""Ten minutes for either way, of which most is the download of a framework."""
CLONE = "benchmarker"
COMPARISON: Sequence[tuple[str, str, str]] = (
    ("clone the repository", "", "git clone --quiet {source} " + CLONE),
    ("make a virtual environment and install", CLONE, "python3 -m venv .venv"),
    ("make a virtual environment and install", CLONE, ".venv/bin/pip install --quiet ."),
    (
        "prove that NumPy and PyTorch compute the same, PyTorch's environment made",
        CLONE,
        ".venv/bin/benchmarker verify --problem=mnist_mlp --framework=numpy,pytorch --size=reduced",
    ),
    (
        "a first run of both",
        CLONE,
        ".venv/bin/benchmarker --framework=numpy,pytorch --problem=mnist_mlp --steps=200 --results=mine",
    ),
    (
        "a verdict from six pairs of processes",
        CLONE,
        ".venv/bin/benchmarker compare framework=numpy framework=pytorch --run --pairs=6 --results=mine",
    ),
)
"""What it is for, where it is called, and the command of each step."""
PLUGIN: Sequence[tuple[str, str, str]] = (
    ("write the skeleton of a framework", CLONE, ".venv/bin/benchmarker new plugin mine --framework"),
    ("install it", CLONE, ".venv/bin/pip install --quiet pytest ./benchmarker-mine"),
    ("pass its own tests", f"{CLONE}/benchmarker-mine", "../.venv/bin/python -m pytest -q"),
    (
        "pass the conformance suite, its environment made",
        CLONE,
        ".venv/bin/benchmarker check mine --threads=1",
    ),
)


def timed(steps: Sequence[tuple[str, str, str]], folder: Path, variables: Mapping[str, str]) -> Iterator[Row]:
    """Make the steps of a way, and yield how long each took and all of them together."""
    taken: dict[str, float] = {}
    for name, place, command in steps:
        print(f"{name}: {command}", file=sys.stderr)
        start = time.perf_counter()
        finished = subprocess.run(
            command.format(source=ROOT).split(),
            cwd=folder / place,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        taken[name] = taken.get(name, 0.0) + time.perf_counter() - start
        if finished.returncode:
            raise SystemExit(f"'{command}' ended with status {finished.returncode}:\n{finished.stdout}")
    yield from (Row(name, [value], None, seconds) for name, value in taken.items())
    yield Row(f"... and all: {len(steps)} commands", [sum(taken.values())], GOAL, seconds)


def main() -> int:
    """Measure and print."""
    arguments = make_parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        inherited = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
        variables = {**inherited, "BENCHMARKER_HOME": str(Path(folder, "home"))}
        rows = [row for way in (COMPARISON, PLUGIN) for row in timed(way, Path(folder), variables)]
    return finish(rows, arguments)


if __name__ == "__main__":
    sys.exit(main())
