"""How often the same work is said to have taken more CPU time for a while, and how often that is found.

Checkpoints of steps are drawn whose CPU time varies as that of programs does: at random, with autocorrelation, by
garbage collection, by phases of their own that recur, by a warm-up and by a leak. Then a neighbour makes them slower
for a while.
``python benchmarks/same_work.py``; with ``--real`` a process that copies memory is the neighbour of real runs
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rows import ROOT, Row, finish, make_parser

from benchmarker.machine.same_work import excess
from benchmarker.machine.trust import LIMITS

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator], Array]

STEPS, PER_INTERVAL = 600, 10
MAX_FALSE, MIN_FOUND = 0.05, 0.9
RISES = (0.2, 0.3, 0.5, 1.0)
LENGTH = 0.2
"""Share of the run in which the neighbour is there."""


def noise(draw: np.random.Generator, spread: float = 0.05) -> Array:
    """Return relative CPU times of steps that differ at random."""
    return np.exp(draw.normal(0, spread, STEPS))


def correlated(draw: np.random.Generator) -> Array:
    """Return those of steps of which neighbours are alike."""
    values = draw.normal(0, 0.05, STEPS)
    for i in range(1, STEPS):
        values[i] += 0.7 * values[i - 1]
    return np.exp(values)


def collecting(draw: np.random.Generator) -> Array:
    """Return those of a program in which one step of fifty takes ten times as long."""
    return noise(draw) * np.where(draw.random(STEPS) < 0.02, 10.0, 1.0)


def phases(draw: np.random.Generator) -> Array:
    """Return those of a program that evaluates after each so many steps."""
    period = int(draw.integers(80, 150))
    return noise(draw) * np.where(np.arange(STEPS) % period < period // 3, 1.6, 1.0)


def warming(draw: np.random.Generator) -> Array:
    """Return those of a program that is slow at first."""
    return noise(draw) * (1 + np.exp(-np.arange(STEPS) / 60))


def leaking(draw: np.random.Generator) -> Array:
    """Return those of a program that becomes slower."""
    return noise(draw) * np.linspace(1, 1.6, STEPS)


OWN: Mapping[str, Draw] = {
    "at random, 5 %": noise,
    "with autocorrelation 0.7": correlated,
    "one of fifty ten times as long": collecting,
    "phases that recur": phases,
    "a warm-up": warming,
    "a leak": leaking,
}


def disturbed(draw: np.random.Generator, own: Draw, rise: float) -> Array:
    """Return the times of a program that a neighbour slows down somewhere in its middle."""
    first = int(draw.uniform(0.1, 0.9 - LENGTH) * STEPS)
    times = own(draw)
    times[first : first + int(LENGTH * STEPS)] *= 1 + rise
    return times


def is_told(times: Array) -> bool:
    """Return whether a run would be told to have been disturbed."""
    passed = np.concatenate([[0.0], np.cumsum(times)])[::PER_INTERVAL]
    steps = list(range(0, STEPS + 1, PER_INTERVAL))
    found = excess({"step": steps, "own_cpu_seconds": passed.tolist(), "seconds": passed.tolist()})
    return found is not None and found.share > LIMITS["same_work"].noisy


def percent(value: float) -> str:
    """Write a share."""
    return f"{value:.1%}"


def simulated(cases: int, seed: int) -> Iterator[Row]:
    """Yield false alarms on programs' own courses, then what is found of a neighbour."""
    for name, own in OWN.items():
        draw = np.random.default_rng(seed)
        share = float(np.mean([is_told(own(draw)) for _ in range(cases)]))
        yield Row(f"false alarms, {name}", [share], MAX_FALSE, percent)
    for rise in RISES:
        draw = np.random.default_rng(seed)
        share = float(np.mean([is_told(disturbed(draw, noise, rise)) for _ in range(cases)]))
        yield Row(f"found, steps {rise:.0%} slower for a fifth of the run", [share], 1.0, percent, MIN_FOUND)


HOG = """
import time, numpy as np
source, target = np.ones(1 << 24), np.empty(1 << 24)
until = time.monotonic() + {seconds}
while time.monotonic() < until:
    np.copyto(target, source)
"""


HOG_BEGINS, HOG_SECONDS = 1.0, 1.0
"""When the hog is started in the timed part, and how long it copies."""
HOG_IMPORTS = 0.4
"""What its imports take at most."""
DISTURBED = 0.2
"""How much slower steps must be, relative: of less for a fifth of the run hardly 3 % are left, the grade's limit."""


@dataclass(frozen=True)
class Observed:
    """A real run: whether it is told to have been disturbed, and by how much its steps were slower beside the hog."""

    told: bool
    rise: float


def real(runs: int, hogs: int) -> Iterator[Row]:
    """Yield how many runs that need memory bandwidth are told to have been disturbed, with a hog and without."""
    alone = [_run(0).told for _ in range(runs)]
    yield Row(f"told, of {runs} real runs alone", [sum(alone) / runs], MAX_FALSE, percent)
    beside = [_run(hogs) for _ in range(runs)]
    name = "beside a process that copies memory for a second"
    yield Row(f"steps slower {name}", [run.rise for run in beside], None, percent)
    slow = [run.told for run in beside if run.rise >= DISTURBED]
    others = [run.told for run in beside if run.rise < DISTURBED]
    if slow:
        yield Row(
            f"told, of {len(slow)} real runs that it made {DISTURBED:.0%} slower or more",
            [sum(slow) / len(slow)],
            1.0,
            percent,
            MIN_FOUND,
        )
    if others:
        yield Row(f"told, of the {len(others)} others", [sum(others) / len(others)], None, percent)


def rise_of(steps: Sequence[float]) -> float:
    """Return by how much steps were slower while the hog was there, relative to those before and after."""
    ends = np.cumsum(steps)
    begins, stops = HOG_BEGINS + HOG_IMPORTS, HOG_BEGINS + HOG_SECONDS
    inside = (ends > begins) & (ends < stops)
    outside = (ends < HOG_BEGINS) | (ends > stops + 2 * HOG_IMPORTS)
    each = np.asarray(steps)
    return float(np.mean(each[inside]) / np.median(each[outside]) - 1)


def _run(hogs: int) -> Observed:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(
                sys.executable,
                "-m",
                "benchmarker",
                "--framework=numpy",
                "--problem=mnist_mlp",
                # Weights of 80 MB for one sample: each step reads them from memory.
                "--set=hidden1=4096",
                "--set=hidden2=4096",
            ),
            *(
                "--mode=inference",
                "--batch-size=1",
                "--threads=1",
                "--window=5",
                "--no-verify",
                f"--results={folder}",
            ),
        ]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
            assert run.stderr is not None
            for line in run.stderr:
                if b": measuring" in line:
                    break
            planted = []
            if hogs:
                time.sleep(HOG_BEGINS)
                command = [sys.executable, "-c", HOG.format(seconds=HOG_SECONDS)]
                planted = [subprocess.Popen(command) for _ in range(hogs)]
            run.stderr.read()
            for hog in planted:
                hog.wait()
        (path,) = Path(folder).glob("*.json")
        record: dict[str, Any] = json.loads(path.read_text())
    told = any(reason["kind"] == "same_work" for reason in record["trust"]["reasons"])
    return Observed(told, rise_of(record["timing"]["samples_seconds"]))


def main() -> int:
    """Simulate, or measure, and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--cases", type=int, default=500, help="simulated of each kind")
    parser.add_argument("--seed", type=int, default=0, help="of the simulated times")
    parser.add_argument(
        "--real", action="store_true", help="plant a process that takes memory bandwidth instead"
    )
    parser.add_argument(
        "--hogs", type=int, default=1, help="such processes at once, as many as take the bandwidth"
    )
    parser.add_argument("--runs", type=int, default=20, help="real ones, of each kind")
    arguments = parser.parse_args()
    found = (
        real(arguments.runs, arguments.hogs) if arguments.real else simulated(arguments.cases, arguments.seed)
    )
    return finish(list(found), arguments)


if __name__ == "__main__":
    sys.exit(main())
