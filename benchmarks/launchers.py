"""What it costs that an engine starts a worker: the same run started locally, by ``srun`` and by ``mpirun``, in turns.

Slurm is a real one of two virtual nodes on this machine (root, Debian's ``slurm-wlm`` and ``munge``); ``mpirun`` is the
one on the path. An engine that is not there is left out, and its row says so. ``python benchmarks/launchers.py``
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass

from rows import ROOT, Row, finish, make_parser, ratio, seconds

from tests.support.slurm_cluster import missing, slurm_cluster

GOAL_STEP, GOAL_SECONDS = 1.01, 1.0
LOCAL = "local"


@dataclass(frozen=True)
class Timed:
    """What a run took: a step in the median, and the whole command, in seconds."""

    step: float
    command: float


def run(launcher: str, ranks: int, steps: int, variables: dict[str, str]) -> Timed:
    """Make a run and return what it took."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [
        sys.executable,
        "-m",
        "benchmarker",
        "--framework=numpy",
        "--problem=mnist_mlp",
        "--batch-size=64",
    ]
    command += ["--threads=1", "--warmup=50", "--monitors=none", "--sampling=latency", "--json"]
    # A network that is counted is the local launcher's alone.
    command += ["--network=shared"] if ranks > 1 else []
    command += [f"--steps={steps}", f"--ranks={ranks}", f"--launcher={launcher}"]
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        done = subprocess.run(
            [*command, f"--results={folder}"],
            env={**os.environ, **variables, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        passed = time.monotonic() - began
    record = json.loads(done.stdout) if done.stdout else None
    if record is None or record["status"] != "ok":
        raise SystemExit(f"{launcher}: {record['error'] if record else done.stderr}")
    return Timed(statistics.median(record["timing"]["samples_seconds"]), passed)


@contextlib.contextmanager
def slurm_job() -> Iterator[dict[str, str]]:
    """Yield the variables of a job on both nodes of a Slurm of this machine."""
    with slurm_cluster() as cluster:
        command = ["salloc", "--no-shell", "--nodes=2", "--ntasks-per-node=1"]
        told = subprocess.run(command, env=cluster.environment, capture_output=True, text=True, check=True)
        (job,) = re.findall(r"Granted job allocation (\d+)", told.stderr)
        yield {
            "SLURM_CONF": str(cluster.configuration),
            "SLURM_JOB_ID": job,
            "SLURM_JOB_NUM_NODES": "2",
        }


def compare(launcher: str, ranks: int, arguments: argparse.Namespace, variables: dict[str, str]) -> list[Row]:
    """Return the rows of an engine."""
    order, pairs = random.Random(0), []
    run(LOCAL, ranks, arguments.steps, {})  # environments and references are made once
    for _ in range(arguments.pairs):
        timed = {
            name: run(name, ranks, arguments.steps, variables if name == launcher else {})
            for name in order.sample([LOCAL, launcher], 2)
        }
        pairs.append((timed[launcher], timed[LOCAL]))
    what = f"{launcher}, {ranks} rank{'s' * (ranks > 1)}"
    return [
        Row(f"{what}: step over local", [one.step / other.step for one, other in pairs], GOAL_STEP, ratio),
        Row(
            f"{what}: command longer than local",
            [one.command - other.command for one, other in pairs],
            GOAL_SECONDS,
            seconds,
        ),
    ]


def main() -> int:
    """Measure each engine beside the local launcher and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--pairs", type=int, default=15, help="of runs, for each engine and number of ranks")
    parser.add_argument("--steps", type=int, default=2000)
    arguments = parser.parse_args()
    rows: list[Row] = []
    absent = missing()
    if absent is None:
        with slurm_job() as variables:
            for ranks in (1, 2):
                rows += compare("slurm", ranks, arguments, variables)
    else:
        print(f"slurm: left out: {absent}")
    if shutil.which("mpirun") or shutil.which("mpiexec"):
        for ranks in (1, 2):
            rows += compare("mpi", ranks, arguments, {})
    else:
        print("mpi: left out: there is no mpirun and no mpiexec")
    return finish(rows, arguments)


if __name__ == "__main__":
    sys.exit(main())
