"""Our time of DeepBench's operators over that of the framework called by hand, in one process.

Prints one JSON line for each configuration and mode, then the geometric mean of all ratios with its 95 % interval
(Student's t over configurations). Run it with an interpreter that has the framework:
``"$(python -m benchmarker env path pytorch)" benchmarks/operators.py pytorch``.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER / "lowering")]

import numpy as np  # noqa: E402
from paired import Comparison, compare  # noqa: E402

from benchmarker.framework import Device, Framework, Optimizer  # noqa: E402
from benchmarker.graph.cost import graph_cost  # noqa: E402
from benchmarker.graph.graph import Graph  # noqa: E402
from benchmarker.statistics import geometric_mean, student_t_interval  # noqa: E402
from benchmarker.suites.deepbench import benchmarker_suites  # noqa: E402
from benchmarker.worker.values import draw_batch, draw_parameters  # noqa: E402

GOAL = 1.005
KINDS = {"pytorch": ("gemm", "conv", "rnn"), "tensorflow": ("gemm", "conv")}
MODES = ("inference", "gradient")
SEED = 0


def configurations(kind: str, count: int, most_flops: float) -> list[tuple[str, dict[str, Any]]]:
    """Return problems with their parameters, spread by cost over those with at most so many operations."""
    suite = next(suite for suite in benchmarker_suites() if suite.name == f"deepbench-{kind}")
    found: dict[str, tuple[float, str, dict[str, Any]]] = {}
    for request in suite.requests:
        parameters = {name: values[0] for name, values in request.settings.items()}
        flops = graph_cost(graph_of(request.name, parameters, "inference")).flops
        if flops <= most_flops:
            found[json.dumps(parameters)] = (flops, request.name, parameters)
    ordered = sorted(found.values(), key=lambda row: row[0])
    chosen = {(2 * part + 1) * len(ordered) // (2 * count) for part in range(count)}
    return [ordered[place][1:] for place in sorted(chosen)]


def graph_of(problem: str, parameters: Mapping[str, Any], mode: str) -> Graph:
    """Return the graph of a problem in a mode."""
    graph = (
        importlib.import_module(f"benchmarker.problems.{problem}").benchmarker_problem().graph(**parameters)
    )
    return graph.for_gradient() if mode == "gradient" else graph.without_loss()


def load_framework(name: str, threads: int) -> tuple[Framework, Any]:
    """Return the framework, configured, and its usual options."""
    plugin = importlib.import_module(f"benchmarker.plugins.{name}").benchmarker_framework()
    module, _, attribute = plugin.implementation.partition(":")
    framework: Framework = getattr(importlib.import_module(module), attribute)()
    framework.configure(Device("cpu"), threads=threads, seed=SEED)
    return framework, plugin.options()


def compared(
    arguments: argparse.Namespace,
    framework: Framework,
    options: Any,
    row: tuple[str, dict[str, Any]],
    mode: str,
) -> Comparison:
    """Check that both compute the same, then time them."""
    name, (problem, parameters) = arguments.framework, row
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    graph = graph_of(problem, parameters, mode)
    weights, batch = draw_parameters(graph, SEED), draw_batch(graph, SEED)
    by_hand = importlib.import_module(f"by_hand.{name}")
    theirs = by_hand.step(problem, parameters, {**weights, **batch}, mode)
    program = framework.build(
        graph,
        weights,
        mode=mode,
        device=Device("cpu"),
        precision="fp32",
        optimizer=Optimizer(),
        options=options,
    )
    native = program.gradient_step if mode == "gradient" else program.infer
    ours = functools.partial(synchronised, native, program.synchronize, program.load(batch))
    result = ours()
    (found,) = program.fetch(result[0] if mode == "gradient" else result)
    np.testing.assert_allclose(found, by_hand.output(theirs()), rtol=1e-3, atol=1e-3)
    label = " ".join(f"{key}={value}" for key, value in parameters.items())
    return compare(
        f"{name} {mode} {problem} {label}",
        ours,
        theirs,
        pairs=arguments.pairs,
        steps=steps_of(theirs, clock),
        warmup=5,
        clock=clock,
    )


def synchronised(step: Callable[[Any], Any], synchronize: Callable[[Any], None], batch: Any) -> Any:
    """Run a step as the worker does, to its end."""
    output = step(batch)
    synchronize(output)
    return output


def steps_of(step: Callable[[], Any], clock: Callable[[], float], seconds: float = 0.02) -> int:
    """Return how many steps make a block of about this length."""
    step()
    start = clock()
    step()
    return max(1, min(2000, round(seconds / max(clock() - start, 1e-6))))


def measured(arguments: argparse.Namespace) -> Iterator[Comparison]:
    """Yield the comparison of each configuration in each mode."""
    framework, options = load_framework(arguments.framework, arguments.threads)
    for kind in KINDS[arguments.framework]:
        for row in configurations(kind, arguments.sample, arguments.most_gflop * 1e9):
            for mode in MODES:
                yield compared(arguments, framework, options, row, mode)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("framework", choices=tuple(KINDS))
    parser.add_argument("--sample", type=int, default=12, help="configurations of each kind")
    parser.add_argument("--most-gflop", type=float, default=2.0, help="of a forward pass")
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument(
        "--cpu-time", action="store_true", help="of the process, on a machine with other work"
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 if the goal is missed")
    arguments = parser.parse_args()
    ratios = []
    for comparison in measured(arguments):
        comparison.print()
        ratios.append(comparison.ratio)
    centre, (low, high) = geometric_mean(ratios), student_t_interval(ratios)
    verdict = "met" if high <= GOAL else "not met" if low > GOAL else "unclear"
    total = {"name": f"{arguments.framework}, all", "ratio": centre, "low": low, "high": high}
    print(json.dumps({**total, "configurations": len(ratios), "goal": GOAL, "verdict": verdict}))
    print(f"load averages {os.getloadavg()}", file=sys.stderr)
    return int(arguments.check and verdict == "not met")


if __name__ == "__main__":
    sys.exit(main())
