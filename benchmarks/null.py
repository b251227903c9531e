"""What a step costs beside what it does: a null problem on a null framework, through the real worker.

Both are a plugin of somebody else (``null/``): it is found, started and timed as any other. Each process gives
one value: the median of what it reports for a step, and all that passed between the first step and the last, by
their number. ``python benchmarks/null.py``
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rows import ROOT, Row, finish, make_parser, nanoseconds

SOURCE = Path(__file__).resolve().parent / "null"
POINTS = {"frameworks": "NullFrameworkPlugin", "problems": "NullProblemPlugin"}
GOAL_INSIDE, GOAL_IN_ALL = 0.3e-6, 2e-6


def installed(folder: Path) -> str:
    """Make the plugin's distribution in a folder, and return the path that has it and this checkout."""
    metadata = folder / "benchmarker_null-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: benchmarker-null\nVersion: 1.0\n")
    groups = [f"[benchmarker.{kind}]\nnull = benchmarker_null:{name}\n" for kind, name in POINTS.items()]
    (metadata / "entry_points.txt").write_text("\n".join(groups))
    return os.pathsep.join(filter(None, [str(folder), str(SOURCE), str(ROOT), os.environ.get("PYTHONPATH")]))


def records(folder: Path, steps: int, processes: int, *options: str) -> list[dict[str, Any]]:
    """Return the records of so many processes; ``options`` are the command's."""
    command = [sys.executable, "-m", "benchmarker", "--framework=null", "--problem=null", "--mode=inference"]
    command += [
        f"--steps={steps}",
        f"--repeats={processes}",
        "--threads=1",
        "--no-verify",
        "--json",
        *options,
    ]
    done = subprocess.run(
        [*command, f"--results={folder / 'results'}"],
        env={**os.environ, "PYTHONPATH": installed(folder)},
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise SystemExit(done.returncode)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> int:
    """Run and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--processes", type=int, default=12)
    parser.add_argument("--steps", type=int, default=5000, help="of each process: a few milliseconds")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        timings = [r["timing"] for r in records(Path(folder), arguments.steps, arguments.processes)]
    inside = [statistics.median(timing["samples_seconds"]) for timing in timings]
    in_all = [timing["wall_seconds"] / timing["steps"] for timing in timings]
    rows = [
        Row("null step, inside the timed region", inside, GOAL_INSIDE, nanoseconds),
        Row("null step, in all", in_all, GOAL_IN_ALL, nanoseconds),
    ]
    return finish(rows, arguments)


if __name__ == "__main__":
    sys.exit(main())
