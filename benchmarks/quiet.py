"""What the orchestrator does to a worker that is being timed: next to nothing.

Starts one ordinary run and looks on from outside while its worker is in stage ``measure``. The
orchestrator's CPU time in that stage is read from ``/proc``, first for ``--seconds``; then it is stopped
and continued in turns (SIGSTOP, SIGCONT), in an order drawn at random for each pair of windows, and the
worker's own samples from both kinds of window are compared, and its CPU time a step, which leaves out who else
had the core. ``python benchmarks/quiet.py`` (Linux)
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from rows import ROOT, Row, finish, make_parser, ratio

GOAL_CPU_IN_5_S, GOAL_SLOWER = 0.05, 1.01
SETTLE_SECONDS = 0.03
"""Left out at both ends of a window: the signal's way, and the clocks of two processes."""


@dataclass(frozen=True)
class Window:
    """Seconds since the stage began, and whether the orchestrator was stopped."""

    start: float
    end: float
    stopped: bool


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process, user and system, resolved in the kernel's ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(arguments: argparse.Namespace, steps: int, folder: Path) -> subprocess.Popen[str]:
    """Start the run; its progress comes line by line."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [
        sys.executable,
        "-m",
        "benchmarker",
        "--problem=mnist_mlp",
        f"--framework={arguments.framework}",
    ]
    command += [f"--steps={steps}", f"--threads={arguments.threads}", f"--results={folder}", "--warmup=50"]
    command += ["--sampling=latency", f"--batch-size={arguments.batch_size}"]
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_timing(process: subprocess.Popen[str]) -> float:
    """Return the clock when the worker enters stage ``measure``."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.rstrip().endswith(": measuring"):
            return time.monotonic()
    raise SystemExit(f"the run ended with status {process.wait()} before anything was timed")


def record_in(folder: Path) -> dict[str, Any]:
    """Return the one record of a folder."""
    record: dict[str, Any] = json.loads(next(folder.glob("*.json")).read_text())
    if record["status"] != "ok":
        raise SystemExit(f"the run did not end well: {record['error']}")
    return record


def samples_of(record: dict[str, Any]) -> list[float]:
    """Return the timed steps of a record, in seconds."""
    return list(record["timing"]["samples_seconds"])


def step_of(arguments: argparse.Namespace) -> float:
    """Return the seconds of a step, by a short run."""
    with tempfile.TemporaryDirectory() as folder:
        process = start(arguments, 500, Path(folder))
        process.communicate()
        return statistics.median(samples_of(record_in(Path(folder))))


def look_on(
    pid: int, began: float, arguments: argparse.Namespace, order: random.Random
) -> tuple[float, list[Window]]:
    """Return the orchestrator's CPU seconds in 5 s of timing, and the windows that followed."""
    before = cpu_seconds(pid)
    time.sleep(arguments.seconds)
    used = (cpu_seconds(pid) - before) * 5 / arguments.seconds
    windows = []
    for _ in range(arguments.pairs):
        for stopped in order.sample([False, True], 2):
            opened = time.monotonic()
            if stopped:
                os.kill(pid, signal.SIGSTOP)
            time.sleep(arguments.window)
            if stopped:
                os.kill(pid, signal.SIGCONT)
            closed = time.monotonic()
            windows.append(Window(opened - began, closed - began, stopped))
    return used, windows


def medians(samples: Sequence[float], windows: Sequence[Window]) -> list[float]:
    """Return the median step in each window; a sample belongs where it lies whole."""
    ends = list(accumulate(samples))
    found = []
    for window in windows:
        low, high = window.start + SETTLE_SECONDS, window.end - SETTLE_SECONDS
        inside = [s for s, end in zip(samples, ends) if end - s >= low and end <= high]
        if not inside:
            raise SystemExit("a window holds no step: the run was shorter than expected; try again")
        found.append(statistics.median(inside))
    return found


def cpu_steps(checkpoints: dict[str, Any], windows: Sequence[Window]) -> list[float]:
    """Return the worker's CPU time a step in each window, by the checkpoints that lie in it."""
    found = []
    for window in windows:
        low, high = window.start + SETTLE_SECONDS, window.end - SETTLE_SECONDS
        inside = [i for i, moment in enumerate(checkpoints["seconds"]) if low <= moment <= high]
        if len(inside) < 2 or checkpoints["step"][inside[0]] == checkpoints["step"][inside[-1]]:
            raise SystemExit("a window holds no two checkpoints: try again, or longer windows")
        first, last = inside[0], inside[-1]
        used, steps = (
            checkpoints[name][last] - checkpoints[name][first] for name in ("own_cpu_seconds", "step")
        )
        found.append(used / steps)
    return found


def ratios(steps: Sequence[float], windows: Sequence[Window]) -> list[float]:
    """Return, for each pair of windows, the step with the orchestrator running over that without it."""
    found = []
    for i in range(0, len(windows), 2):
        pair = {windows[j].stopped: steps[j] for j in (i, i + 1)}
        found.append(pair[False] / pair[True])
    return found


def main() -> int:
    """Run, look on, print."""
    parser = make_parser(__doc__)
    parser.add_argument("--framework", default="numpy")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--batch-size", type=int, default=64, help="of mnist_mlp: makes a step of about 0.5 ms"
    )
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="of looking at the orchestrator's CPU time"
    )
    parser.add_argument("--pairs", type=int, default=40, help="windows with and without the orchestrator")
    parser.add_argument("--window", type=float, default=0.25, help="seconds of a window")
    arguments = parser.parse_args()
    total = arguments.seconds + 2 * arguments.pairs * arguments.window + 1
    step = step_of(arguments)
    print(f"a step takes {step * 1e3:.2f} ms")
    # A little more than it should take: windows must lie in the timed part.
    steps = int(1.3 * total / step)
    with tempfile.TemporaryDirectory() as folder:
        process = start(arguments, steps, Path(folder))
        began = wait_for_timing(process)
        used, windows = look_on(process.pid, began, arguments, random.Random(0))
        process.communicate()
        record = record_in(Path(folder))
    rows = [
        Row(
            "orchestrator's CPU time in 5 s of timing",
            [used],
            GOAL_CPU_IN_5_S,
            lambda value: f"{value:.3f} s",
        ),
        Row(
            "worker's step: beside the orchestrator / without it",
            ratios(medians(samples_of(record), windows), windows),
            GOAL_SLOWER,
            ratio,
        ),
        Row(
            "the same by the worker's CPU time",
            ratios(cpu_steps(record["trust"]["checkpoints"], windows), windows),
            GOAL_SLOWER,
            ratio,
        ),
    ]
    return finish(rows, arguments)


if __name__ == "__main__":
    sys.exit(main())
