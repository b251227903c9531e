"""Our time of DeepBench's operators over that of the framework called by hand, in one process.

Each framework runs in its own environment (which is made if there is none), over configurations spread by cost.
A configuration's ratio is the geometric mean over its modes, each of which is the median over rounds of short
blocks; a framework's is the geometric mean over configurations, with Student's t interval.
``python benchmarks/operators.py``, or with the names of some frameworks
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from command import environment, interpreter_of
from rows import Row, finish, make_parser, ratio

from benchmarker.experiment.suites.deepbench import benchmarker_suites
from benchmarker.graph.cost import graph_cost
from benchmarker.machine.threads import default_threads
from benchmarker.statistics import geometric_mean, student_t_interval

GOAL = 1.005
MEASURING = Path(__file__).resolve().parent / "by_hand" / "measuring.py"
KINDS: Mapping[str, Sequence[str]] = {
    "pytorch": ("gemm", "conv", "rnn"),
    "tensorflow": ("gemm", "conv"),
    "mxnet": ("gemm", "conv", "rnn"),
    "jax": ("gemm", "conv"),
    "onnxruntime": ("gemm", "conv", "rnn"),
    "openvino": ("gemm", "conv"),
    "chainer": ("gemm", "conv"),
    "numpy": ("gemm",),
}
"""What each framework has a call for. Chainer's recurrent ones take twice as long as what we make of others."""
MODES: Mapping[str, Sequence[str]] = {"onnxruntime": ("inference",), "openvino": ("inference",)}
"""The modes of a framework that has not both."""
Case = tuple[str, dict[str, Any], str]
"""A problem, its sizes, a mode."""


class Mean(Row):
    """A row whose values are ratios of configurations: their geometric mean, with Student's t interval."""

    @property
    def centre(self) -> float:
        """The geometric mean."""
        return geometric_mean(self.values)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95 % interval, ``None`` for a single value."""
        return student_t_interval(self.values) if len(self.values) > 1 else None


@functools.cache
def flops_of(problem: str, sizes: str) -> float:
    """Return the operations of a forward pass; the sizes are JSON."""
    module = importlib.import_module(f"benchmarker.problems.{problem}")
    return graph_cost(module.benchmarker_problem().graph(**json.loads(sizes)).without_loss()).flops


def configurations(kind: str, count: int, most_flops: float) -> list[tuple[str, dict[str, Any]]]:
    """Return problems with their sizes, spread by cost over those with at most so many operations."""
    suite = next(suite for suite in benchmarker_suites() if suite.name == f"deepbench-{kind}")
    asked = {
        (request.name, json.dumps({name: values[0] for name, values in request.settings.items()}))
        for request in suite.requests
    }
    ordered = sorted((row for row in asked if flops_of(*row) <= most_flops), key=lambda r: (flops_of(*r), r))
    chosen = {(2 * part + 1) * len(ordered) // (2 * count) for part in range(count)}
    return [(ordered[place][0], json.loads(ordered[place][1])) for place in sorted(chosen)]


def cases_of(framework: str, arguments: argparse.Namespace) -> Iterator[Case]:
    """Yield what is measured of a framework: the modes of a configuration after each other."""
    each = -(-arguments.sample // len(KINDS[framework]))
    for kind in KINDS[framework]:
        for problem, sizes in configurations(kind, each, arguments.most_gflop * 1e9):
            for mode in MODES.get(framework, ("inference", "gradient")):
                yield problem, sizes, mode


def measured(framework: str, arguments: argparse.Namespace) -> list[float]:
    """Measure a framework in its own interpreter and return the ratio of each configuration."""
    cases = list(cases_of(framework, arguments))
    job = {
        "framework": framework,
        "threads": arguments.threads,
        "cases": cases,
        "rounds": arguments.rounds,
        "block_seconds": arguments.block_ms / 1e3,
        "cpu_time": arguments.cpu_time,
        "itself": arguments.itself,
    }
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryFile("w+") as log, tempfile.TemporaryFile("w+") as asked:
        json.dump(job, asked)
        asked.seek(0)
        with subprocess.Popen(
            [interpreter_of(framework), str(MEASURING)],
            env=environment(arguments.threads),
            stdin=asked,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as worker:
            assert worker.stdout is not None
            lines = (line for line in worker.stdout if line.startswith("{"))
            for (problem, sizes, _), line in zip(cases, lines):
                comparison = json.loads(line)
                print(told(framework, comparison), file=sys.stderr, flush=True)
                found.setdefault(f"{problem} {sizes}", []).append(comparison["ratio"])
        if worker.returncode:
            log.seek(0)
            raise SystemExit(f"{framework} ended with status {worker.returncode}:\n{log.read()[-3000:]}")
    return [geometric_mean(ratios) for ratios in found.values()]


def told(framework: str, comparison: Mapping[str, Any]) -> str:
    """Return one comparison as a line."""
    interval = " to ".join(ratio(comparison[end]) for end in ("low", "high"))
    took = f"{comparison['theirs_seconds'] * 1e6:.1f} us"
    calls = f"{comparison['more_calls']:+d} calls"
    return f"{framework} {comparison['name']}: {ratio(comparison['ratio'])} ({interval}) of {took}, {calls}"


def main() -> int:
    """Measure and print."""
    parser = make_parser(__doc__)
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help=f"default: {' '.join(KINDS)}")
    parser.add_argument("--sample", type=int, default=36, help="configurations of each framework")
    parser.add_argument("--most-gflop", type=float, default=1.0, help="of a forward pass")
    parser.add_argument(
        "--rounds", type=int, default=12, help="of four blocks, for each configuration and mode"
    )
    parser.add_argument("--block-ms", type=float, default=10.0, help="a block is at least one step")
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument(
        "--cpu-time", action="store_true", help="of the process, on a machine with other work"
    )
    parser.add_argument(
        "--itself",
        action="store_true",
        help="compare what is called by hand with itself: what noise alone makes",
    )
    arguments = parser.parse_args()
    unknown = set(arguments.frameworks) - set(KINDS)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    names = arguments.frameworks or list(KINDS)
    ratios = {name: measured(name, arguments) for name in names}
    if len(names) > 1:
        ratios["all"] = [value for values in ratios.values() for value in values]
    rows = [Mean(f"{name}: ours / by hand", values, GOAL, ratio) for name, values in ratios.items()]
    return finish(rows, arguments)


if __name__ == "__main__":
    sys.exit(main())
