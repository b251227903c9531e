"""Whether memory that is known to be there is reported: 600 MB in the worker, and in a child of it.

The null framework (``null/``) takes the memory while it builds its program; what the monitor of the process tree
says of such a run is compared with what it says of one that takes none. ``python benchmarks/memory.py`` (Linux)
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from null import records
from rows import Row, finish, make_parser

HELD = 600
WITHIN = 0.02


def peak_bytes(where: str, processes: int) -> list[int]:
    """Return the peaks of runs that hold :data:`HELD` megabytes there."""
    held = 0 if where == "nowhere" else HELD
    options = (f"--set=null.hold_megabytes={held}", f"--set=null.in_child={str(where == 'child').lower()}")
    with tempfile.TemporaryDirectory() as folder:
        found = records(Path(folder), 1000, processes, *options)
    return [record["monitors"]["tree_memory"]["peak_bytes"] for record in found]


def as_reported(value: float) -> str:
    """Write a share of what was held as megabytes."""
    return f"{value * HELD:.1f} MB"


def main() -> int:
    """Run and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--processes", type=int, default=6)
    arguments = parser.parse_args()
    without = peak_bytes("nowhere", arguments.processes)
    rows = []
    for where, name in (("worker", "in the worker"), ("child", "in a child of the worker")):
        shares = [
            (full - base) / (HELD * 1e6)
            for full, base in zip(peak_bytes(where, arguments.processes), without)
        ]
        rows.append(Row(f"{HELD} MB {name}, as reported", shares, 1 + WITHIN, as_reported, 1 - WITHIN))
    return finish(rows, arguments)


if __name__ == "__main__":
    sys.exit(main())
