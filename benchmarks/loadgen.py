"""Are the numbers of ``--scenario`` those of MLPerf's LoadGen, which drives the same NumPy program?

One process holds the program of ``mnist_mlp``. In turns LoadGen drives it (a thread takes its queries, as Python
programs under LoadGen do) and our own loop; then LoadGen is asked whether the rate that our search of a server
found is valid, and whether one well above our interval is not. LoadGen comes from its wheel, into an environment of
its own:
``uv run --with mlcommons-loadgen==6.0.17 --with-editable . python benchmarks/loadgen.py``
"""

from __future__ import annotations

import functools
import os
import queue
import re
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rows import Row, make_parser, print_table, ratio

GOALS = {"single stream": (0.9, 1.1), "offline": (0.9, 1.1), "server": (0.8, 1.25)}
"""Least and most of ours over LoadGen's: LoadGen hands each query to a thread, and the tail of a server is a tail."""
BATCH_SIZE, HIDDEN = 64, 256
QUERIES = {"single stream": 400, "offline": 400, "server": 1500}
LOAD = 0.6
"""Share of the program's capacity at which both serve."""
SUMMARY = {
    "single stream": r"90\.0+th percentile latency \(ns\)\s*: (\d+)|90th percentile latency \(ns\)\s*: (\d+)",
    "offline": r"Samples per second\s*: ([\d.]+)",
    "server": r"99\.00 percentile latency \(ns\)\s*: (\d+)",
}


def milliseconds(value: float) -> str:
    """Write a latency."""
    return f"{value * 1e3:.3f} ms"


@dataclass(frozen=True)
class Answered:
    """What LoadGen wrote of a test."""

    summary: str

    @property
    def is_valid(self) -> bool:
        return "Result is : VALID" in self.summary

    def number(self, scenario: str) -> float:
        """Return the number of a scenario: seconds of a percentile, or queries per second."""
        found = re.search(SUMMARY[scenario], self.summary)
        if found is None:
            raise SystemExit(f"LoadGen's summary has no number of {scenario}:\n{self.summary}")
        value = float(next(filter(None, found.groups())))
        return value if scenario == "offline" else value / 1e9


class LoadGen:
    """LoadGen before a step: a thread of ours takes queries in their order, one step each."""

    def __init__(self, step: Callable[[], object], folder: str) -> None:
        import mlperf_loadgen

        self._lg, self._step, self._folder = mlperf_loadgen, step, folder
        self._queries: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        lg = self._lg
        while True:
            number = self._queries.get()
            self._step()
            lg.QuerySamplesComplete([lg.QuerySampleResponse(number, 0, 0)])

    def test(self, scenario: str, *, rate: float, bound: float = 1.0, seed: int = 0) -> Answered:
        """Run one test of as many queries as ours has, and return its summary."""
        lg, settings, count = self._lg, self._lg.TestSettings(), QUERIES[scenario]
        names = {"single stream": "SingleStream", "offline": "Offline", "server": "Server"}
        settings.scenario = getattr(lg.TestScenario, names[scenario])
        settings.mode = lg.TestMode.PerformanceOnly
        settings.min_query_count = settings.max_query_count = count if scenario != "offline" else 1
        settings.min_duration_ms = 0
        settings.single_stream_expected_latency_ns = int(1e9 / rate)
        settings.offline_expected_qps = rate
        if scenario == "offline":
            settings.min_duration_ms = int(count / rate * 1000 / 1.1)
        settings.server_target_qps, settings.server_target_latency_ns = rate, int(bound * 1e9)
        settings.server_target_latency_percentile = 0.99
        settings.schedule_rng_seed = settings.sample_index_rng_seed = settings.qsl_rng_seed = seed
        return Answered(self._run(settings))

    def number(self, scenario: str, rate: float, seed: int) -> float:
        """Return the number of a scenario."""
        return self.test(scenario, rate=rate, seed=seed + 1).number(scenario)

    def _run(self, settings: Any) -> str:
        lg = self._lg
        system = lg.ConstructSUT(
            lambda samples: [self._queries.put(s.id) for s in samples] and None, lambda: None
        )
        library = lg.ConstructQSL(1024, 1024, lambda samples: None, lambda samples: None)
        output, logs = lg.LogOutputSettings(), lg.LogSettings()
        output.outdir, output.copy_summary_to_stdout = self._folder, False
        logs.log_output, logs.enable_trace = output, False
        lg.StartTestWithLogSettings(system, library, settings, logs)
        lg.DestroyQSL(library)
        lg.DestroySUT(system)
        return (Path(self._folder) / "mlperf_log_summary.txt").read_text()


class Ours:
    """Our own loop before the same program, whose steps may sleep besides."""

    def __init__(self, threads: int, sleep: float = 0.0) -> None:
        from benchmarker.api.framework import Device
        from benchmarker.data.values import draw_batch, draw_parameters
        from benchmarker.plugins.numpy.framework import NumpyFramework
        from benchmarker.problems.mnist_mlp import benchmarker_problem

        framework = NumpyFramework()
        framework.configure(Device("cpu"), threads=threads, seed=42)
        problem = benchmarker_problem()
        graph = problem.graph(BATCH_SIZE, **problem.configure({"hidden1": HIDDEN, "hidden2": HIDDEN}))
        graph = graph.without_loss()
        self.program = framework.build(
            graph, draw_parameters(graph, 42), mode="inference", device=Device("cpu"), precision="fp32",
            optimizer=problem.optimizer, options=None,
        )  # fmt: skip
        batch = self.program.load(draw_batch(graph, 42))
        infer = self.program.infer

        def sleepy(batch: Any) -> Any:
            time.sleep(sleep)
            return infer(batch)

        self.infer = sleepy if sleep else infer
        self.what = self.infer, self.program.synchronize, lambda: batch
        self.batch = batch

    def step(self) -> object:
        """Make a step and wait for it."""
        output = self.infer(self.batch)
        self.program.synchronize(output)
        return output

    def number(self, scenario: str, rate: float, seed: int) -> float:
        """Return the number of a scenario, as :meth:`Answered.number` does."""
        from benchmarker.statistics import percentile
        from benchmarker.worker.measurement.arrivals import poisson_arrivals
        from benchmarker.worker.measurement.sampling import sample
        from benchmarker.worker.measurement.serving import serve

        count = QUERIES[scenario]
        if scenario == "server":
            served = serve(*self.what, poisson_arrivals(42, seed, rate, count), bound=1.0)
            return percentile(sorted(served.latencies), 99) / 1e9
        found = sample(*self.what, count, block_steps=count if scenario == "offline" else 1)
        return count / found.total_seconds if scenario == "offline" else percentile(sorted(found.seconds), 90)

    def search(self, bound: float) -> Any:
        """Return what the search of a server finds."""
        from types import SimpleNamespace

        from benchmarker.api.framework import Device
        from benchmarker.worker.job import RunJob
        from benchmarker.worker.measurement.scenarios import ServerRun

        step, synchronize, feed = self.what
        job = RunJob(
            framework="", device=Device("cpu"), threads=1, seed=42, problem="", problem_parameters={}, mode="inference",
            batch_size=BATCH_SIZE, precision="fp32", scenario="server", latency_bound=bound, steps=QUERIES["server"],
            orchestrator=os.getpid(),
        )  # fmt: skip
        prepared: Any = SimpleNamespace(
            step=step, program=SimpleNamespace(synchronize=synchronize), feed=feed
        )
        server = ServerRun(job, prepared)
        server.find(0.001, lambda *told: None)
        server.confirm(step, lambda *told: None)
        return server.search


def rows(ours: Ours, theirs: LoadGen, rounds: int, capacity: float) -> Iterator[Row]:
    """Yield both numbers of each scenario and their ratio; the order of the two changes with each round."""
    show = {"single stream": milliseconds, "offline": lambda v: f"{v:.1f} queries/s", "server": milliseconds}
    for scenario, (least, most) in GOALS.items():
        rate = LOAD * capacity if scenario == "server" else capacity
        pairs = []
        for number in range(rounds):
            calls = [
                functools.partial(ours.number, scenario, rate, number),
                functools.partial(theirs.number, scenario, rate, number),
            ]
            order = (0, 1) if number % 2 == 0 else (1, 0)
            found = {side: calls[side]() for side in order}
            pairs.append((found[0], found[1]))
        yield Row(f"{scenario}: ours", [a for a, _ in pairs], None, show[scenario])
        yield Row(f"{scenario}: LoadGen's", [b for _, b in pairs], None, show[scenario])
        yield Row("... ours over LoadGen's", [a / b for a, b in pairs], most, ratio, least)
        best = max if scenario == "offline" else min
        calmest = [best(side) for side in zip(*pairs)]
        yield Row("... of the calmest round of each", [calmest[0] / calmest[1]], None, ratio)


def verdicts(ours: Ours, theirs: LoadGen, rounds: int, bound: float) -> Iterator[Row]:
    """Yield how often LoadGen finds the rate valid that we have found, and one well above our interval."""
    found = ours.search(bound)
    print(
        f"server within {milliseconds(bound)}: {found.outcome}, {found.rate or 0:.1f} queries/s of a capacity of "
        f"{found.capacity:.1f}, interval {found.interval[0]:.1f} to {found.interval[1]:.1f}. {found.reason or ''}",
        file=sys.stderr,
    )
    if found.rate is None:
        return
    above = 1.1 * found.interval[1]
    for name, rate, goal in (("found", found.rate, 1.0), ("1.1 x the upper end of its interval", above, 0.0)):
        valid = [
            float(theirs.test("server", rate=rate, bound=bound, seed=n + 1).is_valid) for n in range(rounds)
        ]
        yield Row(f"server at the rate {name}: LoadGen says VALID", valid, goal, ratio, goal)


def main() -> int:
    """Measure and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--sleep", type=float, default=0.0, help="seconds of each step besides: a busy machine says less"
    )
    arguments = parser.parse_args()
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, str(arguments.threads))
    ours = Ours(arguments.threads, arguments.sleep)
    for _ in range(50):
        ours.step()
    capacity = statistics.median(ours.number("offline", 0.0, 0) for _ in range(3))
    with tempfile.TemporaryDirectory() as folder:
        theirs = LoadGen(ours.step, folder)
        found = [*rows(ours, theirs, arguments.rounds, capacity)]
        found += verdicts(ours, theirs, arguments.rounds, 8 / capacity)
    # No part of all.py, whose interpreter need not have LoadGen.
    print_table([row.cells() for row in found])
    return int(arguments.check and any(row.verdict == "not met" for row in found))


if __name__ == "__main__":
    sys.exit(main())
