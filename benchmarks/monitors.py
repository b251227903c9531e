"""What the monitors of the timed part do to it: a step of 1 ms with them and without, side by side.

A process repeats a step of about a millisecond that keeps one core busy. This one watches it as the
orchestrator would, in windows that alternate with windows in which nobody does, in an order drawn at random
for each pair. A monitor wakes ten times a second, so most steps never meet it and the median step would not
show it; the mean step does, but so does everybody else on the machine. The CPU time of the steps shows what
the monitor does to caches and leaves out who waited for a core. The worst case adds all CPU time of the
monitor, as if each wake had taken the worker's core. ``python benchmarks/monitors.py`` (Linux)
"""

from __future__ import annotations

import argparse
import array
import random
import statistics
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from overhead import hash_buffer, sized_for
from rows import Row, finish, make_parser, ratio

from benchmarker import registry
from benchmarker.api.collector import Run
from benchmarker.orchestration.collector_session import CollectorSession

GOAL_SLOWER, GOAL_CPU_SECONDS = 1.005, 0.005
STEP_SECONDS = 1e-3
SETTLE_SECONDS = 0.03
"""Left out at both ends of a window: opening and closing the files."""
RUN = Run("numpy", "mnist_mlp")


@dataclass(frozen=True)
class Window:
    """When it began and ended on the monotonic clock, whether it was watched, CPU time used here a second."""

    start: float
    end: float
    watched: bool
    cpu_seconds: float


def repeat_steps(file: Path, size: int) -> None:
    """Repeat the step until standard input ends; write when each ended and the CPU time then, in ns."""
    import threading

    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    buffer, stamps = bytes(size), array.array("q")
    while not ended.is_set():
        hash_buffer(buffer)
        stamps.extend((time.monotonic_ns(), time.thread_time_ns()))
    file.write_bytes(stamps.tobytes())


def look_on(pid: int, names: Sequence[str], arguments: argparse.Namespace) -> list[Window]:
    """Return windows in pairs, one of each watched by the monitors."""
    plugins = {name: registry.load(registry.find("collectors", name)) for name in names}
    order, windows = random.Random(0), []
    for _ in range(arguments.pairs):
        for watched in order.sample([False, True], 2):
            with CollectorSession(RUN, plugins if watched else {}, {}) as collection:
                collection.before_timing()
                collection.timing_begins(pid)
                start, used = time.monotonic(), time.process_time()
                time.sleep(arguments.window)
                end, used = time.monotonic(), time.process_time() - used
                collection.timing_ends()
            windows.append(Window(start, end, watched, used / (end - start)))
    return windows


@dataclass(frozen=True)
class Steps:
    """Steps that lie whole in a window, in seconds: of the wall clock, and of CPU time."""

    wall: Sequence[float]
    cpu: Sequence[float]


def steps_in(stamps: Sequence[int], window: Window) -> Steps:
    """Return the steps of the window."""
    clock, cpu = stamps[::2], stamps[1::2]
    low = bisect_left(clock, int((window.start + SETTLE_SECONDS) * 1e9))
    high = bisect_right(clock, int((window.end - SETTLE_SECONDS) * 1e9))
    return Steps(*([(b - a) / 1e9 for a, b in pairwise(s[low:high])] for s in (clock, cpu)))


def compared(stamps: Sequence[int], windows: Sequence[Window], what: Callable[[Steps], float]) -> list[float]:
    """Return, for each pair of windows, the step while watched over that while not."""
    found = []
    for first, second in zip(windows[::2], windows[1::2]):
        values = {window.watched: what(steps_in(stamps, window)) for window in (first, second)}
        found.append(values[True] / values[False])
    return found


def cpu_costs(windows: Sequence[Window]) -> list[float]:
    """Return, for each pair of windows, the CPU time a second that watching cost here."""
    pairs = [{w.watched: w.cpu_seconds for w in pair} for pair in zip(windows[::2], windows[1::2])]
    return [pair[True] - pair[False] for pair in pairs]


def milliseconds(value: float) -> str:
    """Write a short time, given in seconds."""
    return f"{value * 1e3:.2f} ms"


def rows(arguments: argparse.Namespace) -> list[Row]:
    """Run the steps, look on, compare."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "stamps"
        size = len(sized_for(STEP_SECONDS))
        command = [sys.executable, __file__, "--steps-into", str(file), "--size", str(size)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE)
        try:
            time.sleep(0.5)
            windows = look_on(process.pid, arguments.monitors, arguments)
        finally:
            process.communicate()
        stamps = array.array("q")
        stamps.frombytes(file.read_bytes())
    cpu = compared(stamps, windows, lambda steps: statistics.mean(steps.cpu))
    costs = cpu_costs(windows)
    found = [
        Row(
            "median step", compared(stamps, windows, lambda s: statistics.median(s.wall)), GOAL_SLOWER, ratio
        ),
        Row("mean step", compared(stamps, windows, lambda s: statistics.mean(s.wall)), None, ratio),
        Row("mean step by its CPU time", cpu, GOAL_SLOWER, ratio),
        Row("worst case of the mean step", [a + b for a, b in zip(cpu, costs)], GOAL_SLOWER, ratio),
        Row("CPU time a second of watching", costs, GOAL_CPU_SECONDS, milliseconds),
    ]
    step = statistics.median(s for window in windows for s in steps_in(stamps, window).wall)
    print(
        f"monitors: {', '.join(arguments.monitors)}; a step takes {milliseconds(step)}; steps: watched / not"
    )
    return found


def main() -> int:
    """Measure and print; as a child, be what is measured."""
    parser = make_parser(__doc__)
    parser.add_argument("--monitors", nargs="+", default=["energy", "utilization"], metavar="NAME")
    parser.add_argument("--pairs", type=int, default=60, help="windows with and without the monitors")
    parser.add_argument("--window", type=float, default=0.5, help="seconds of a window")
    parser.add_argument("--steps-into", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.steps_into:
        repeat_steps(arguments.steps_into, arguments.size)
        return 0
    return finish(rows(arguments), arguments)


if __name__ == "__main__":
    sys.exit(main())
