"""Are the formulas of ``benchmarker scale`` what a simulator finds? SimGrid, message by message, on a star of links.

A value is the formula's time over the simulated one, of one number of ranks and bytes each. SimGrid's network model is
CM02 without cross-traffic: a latency and a bandwidth. Its default, LV08, multiplies latencies by 13 (calibrated for TCP
on clusters of 2008). Needs a C++ compiler and SimGrid (Debian: ``g++ libsimgrid-dev``).
``python benchmarks/simulation.py``
"""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from rows import ROOT, Row, finish, make_parser, ratio

GOAL = (0.99, 1.01)
RANKS = (2, 3, 4, 8, 16, 64, 256)
BYTES = (1_000, 100_000, 10_000_000, 100_000_000)
NETWORKS = ((12.5e9, 10e-6), (1.25e9, 20e-6), (0.125e9, 50e-6))
ALGORITHMS = {
    "ring": "all-reduce",
    "halving": "all-reduce-halving",
    "tree": "all-reduce-tree",
    "neighbours": "neighbours",
    "server": "parameter-server",
    "asynchronous": "asynchronous-server",
    "gather": "sparse/0.5",
}
"""The scheme of each simulated algorithm; half of the gradients with their indices are as many bytes as all."""
POWERS_OF_TWO = ("halving", "tree")
MODEL = ("--cfg=network/model:CM02", "--cfg=network/crosstraffic:0", "--log=root.threshold:error")
KEPT = ROOT / "tests" / "data" / "simgrid.json"


class Case(NamedTuple):
    """What is simulated, and what came out."""

    algorithm: str
    ranks: int
    bytes: int
    bytes_per_second: float
    latency_seconds: float
    seconds: float


def compiled(folder: Path) -> Path:
    """Return the simulation as a program."""
    program = folder / "exchanges"
    source = Path(__file__).with_name("simgrid") / "exchanges.cpp"
    if shutil.which("g++") is None:
        raise SystemExit("the simulation needs a C++ compiler: install g++ and libsimgrid-dev (Debian)")
    subprocess.run(["g++", "-O2", "-std=c++17", str(source), "-lsimgrid", "-o", str(program)], check=True)
    return program


def simulated(program: Path) -> list[Case]:
    """Return all cases with their simulated times."""
    found = []
    for algorithm, ranks, size, (rate, latency) in itertools.product(ALGORITHMS, RANKS, BYTES, NETWORKS):
        if algorithm in POWERS_OF_TWO and ranks & (ranks - 1):
            continue
        arguments = [algorithm, *map(str, (ranks, size, rate, latency)), *MODEL]
        done = subprocess.run([str(program), *arguments], check=True, capture_output=True, text=True)
        found.append(Case(algorithm, ranks, size, rate, latency, float(done.stdout)))
        print(
            f"{algorithm} {ranks} ranks, {size:,} bytes: {found[-1].seconds:.6g} s",
            file=sys.stderr,
            flush=True,
        )
    return found


def over_simulated(case: Case) -> float:
    """Return the formula's time over the simulated one."""
    from benchmarker.analysis.scaling.exchanges import exchange_of
    from benchmarker.api.interconnect import Interconnect

    network = Interconnect("simulated", case.latency_seconds, case.bytes_per_second)
    exchange = exchange_of(ALGORITHMS[case.algorithm])
    return exchange.seconds(case.bytes, case.ranks, network) / case.seconds


def main() -> int:
    """Simulate and print."""
    parser = make_parser(__doc__)
    parser.add_argument(
        "--keep", action="store_true", help=f"keep the simulated times in {KEPT.relative_to(ROOT)}"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cases = simulated(compiled(Path(folder)))
    if arguments.keep:
        KEPT.write_text(
            "[\n" + ",\n".join(json.dumps(case._asdict()) for case in cases) + "\n]\n", encoding="utf-8"
        )
    least, most = GOAL
    ratios = {name: [over_simulated(case) for case in cases if case.algorithm == name] for name in ALGORITHMS}
    rows = [Row(f"{name}: formula / simulated", found, most, ratio, least) for name, found in ratios.items()]
    for name, found in ratios.items():
        print(f"{name}: {min(found):.6f} to {max(found):.6f}", file=sys.stderr)
    return finish(rows, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
