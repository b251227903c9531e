"""All numbers that benchmarker promises of itself, measured in turn, in one table. ``python benchmarks/all.py``"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from rows import make_parser, print_table

FOLDER = Path(__file__).resolve().parent
SCRIPTS = (
    "null",
    "overhead",
    "quiet",
    "monitors",
    "memory",
    "recovery",
    "groups",
    "same_work",
    "comparing",
    "turns",
    "validating",
    "planning",
    "page",
    "reading",
    "elsewhere",
    "prefetching",
    "command",
    "launchers",
    "operators",
    "micro_batching",
    "composed",
    "training",
    "native_ranks",
    "simulation",
    "outsider",
)


def measure(script: str) -> list[list[str]]:
    """Run one script and return its rows."""
    with tempfile.TemporaryDirectory() as folder:
        cells = Path(folder) / "cells.json"
        command = [sys.executable, str(FOLDER / f"{script}.py"), "--cells", str(cells)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL)
        if done.returncode or not cells.exists():
            return [[f"{script}: ended with status {done.returncode}", "", "", "", "", "not met"]]
        return [[f"{script}: {name}", *rest] for name, *rest in json.loads(cells.read_text())]


def main() -> int:
    """Measure all, or those that are named, and print."""
    parser = make_parser(__doc__)
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT", help=f"default: {' '.join(SCRIPTS)}")
    arguments = parser.parse_args()
    unknown = set(arguments.scripts) - set(SCRIPTS)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(SCRIPTS)}")
    cells = []
    for script in arguments.scripts or SCRIPTS:
        print(f"{script}.py ...", file=sys.stderr, flush=True)
        cells += measure(script)
    print_table(cells)
    return int(arguments.check and any(row[-1] == "not met" for row in cells))


if __name__ == "__main__":
    sys.exit(main())
