"""The part of ``operators.py`` inside a framework's interpreter: each case by us and by hand, side by side.

The job is JSON on standard input; each case gives one line of JSON on standard output.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
# The modules here have the names of the frameworks, so their folder is not on the path.
sys.path[:1] = [str(FOLDER.parents[1]), str(FOLDER.parent), str(FOLDER.parent / "lowering")]

import numpy as np  # noqa: E402
from by_hand.case import Case, Step  # noqa: E402
from paired import Comparison, by_turns  # noqa: E402

from benchmarker.api.framework import Device, Framework  # noqa: E402
from benchmarker.api.optimizer import Optimizer  # noqa: E402
from benchmarker.api.program import Program  # noqa: E402
from benchmarker.data.values import draw_batch, draw_parameters  # noqa: E402
from benchmarker.graph.graph import Graph  # noqa: E402

SEED = 0
CPU = Device("cpu")
WARMUP = 3


def graph_of(problem: str, sizes: Mapping[str, Any], mode: str) -> Graph:
    """Return the graph of a problem in a mode."""
    module = importlib.import_module(f"benchmarker.problems.{problem}")
    graph: Graph = module.benchmarker_problem().graph(**sizes)
    return graph.for_gradient() if mode == "gradient" else graph.without_loss()


def load_framework(name: str, threads: int) -> tuple[Framework, Any]:
    """Return the framework, configured, and its usual options."""
    plugin = importlib.import_module(f"benchmarker.plugins.{name}").benchmarker_framework()
    module, _, attribute = plugin.implementation.partition(":")
    framework: Framework = getattr(importlib.import_module(module), attribute)()
    framework.configure(CPU, threads=threads, seed=SEED)
    return framework, plugin.options()


def our_step(program: Program, loaded: Any, mode: str) -> Step:
    """Return the step as the worker runs it, to its end."""
    native = program.gradient_step if mode == "gradient" else program.infer
    synchronize = program.synchronize

    def step() -> Any:
        output = native(loaded)
        synchronize(output)
        return output

    return step


def compared(job: Mapping[str, Any], framework: Framework, options: Any, asked: list[Any]) -> dict[str, Any]:
    """Time both sides; return the comparison and ``more_calls``.

    Both are made twice, for half of the rounds each, and who is made first changes: where operands lie in memory
    matters, and what is made later lies elsewhere.
    """
    problem, sizes, mode = asked
    clock = time.process_time if job["cpu_time"] else time.perf_counter
    took: tuple[list[float], list[float]] = ([], [])
    steps = more_calls = 0
    for ours_first in (False, True):
        ours, theirs = sides(job, framework, options, asked, ours_first)
        steps = steps or steps_of(theirs, clock, job["block_seconds"])
        settings = {"pairs": -(-job["rounds"] // 2), "steps": steps, "warmup": WARMUP, "clock": clock}
        for total, found in zip(took, by_turns(ours, theirs, **settings)):
            total.extend(found)
        more_calls = calls_of(ours) - calls_of(theirs)
    name = " ".join([mode, problem, *(f"{name}={value}" for name, value in sizes.items())])
    return {**asdict(Comparison.of(name, *took)), "more_calls": more_calls}


def sides(
    job: Mapping[str, Any], framework: Framework, options: Any, asked: list[Any], ours_first: bool
) -> tuple[Step, Step]:
    """Return our step and that by hand, made in this order or the other, and checked to compute the same."""
    problem, sizes, mode = asked
    graph = graph_of(problem, sizes, mode)
    weights, batch = draw_parameters(graph, SEED), draw_batch(graph, SEED)
    by_hand = importlib.import_module(f"by_hand.{job['framework']}")
    case = Case(problem, sizes, {**weights, **batch}, mode, job["threads"])

    def made() -> tuple[Program, Any]:
        program = framework.build(
            graph,
            weights,
            mode=mode,
            device=CPU,
            precision="fp32",
            optimizer=Optimizer(),
            options=options,
        )
        return program, program.load(batch)

    if ours_first:
        program, loaded = made()
        theirs = by_hand.step(case)
    else:
        theirs = by_hand.step(case)
        program, loaded = made()
    ours = our_step(program, loaded, mode)
    check(program, loaded, ours(), theirs(), by_hand, mode)
    return (by_hand.step(case) if job["itself"] else ours), theirs


def check(program: Program, loaded: Any, ours: Any, theirs: Any, by_hand: Any, mode: str) -> None:
    """Refuse to time two different functions; gradients are compared by their norm, whatever their layout."""
    backward = mode == "gradient"
    (mine,) = program.fetch(ours[0] if backward else ours)
    np.testing.assert_allclose(mine, by_hand.output(theirs[0] if backward else theirs), rtol=1e-3, atol=1e-3)
    if backward:
        found = program.gradients(loaded)[1].values(), by_hand.gradients(theirs[1])
        np.testing.assert_allclose(*map(norm, found), rtol=1e-3)


def norm(arrays: Any) -> float:
    """Return the Euclidean norm of all elements of several arrays."""
    return float(np.sqrt(sum(np.square(array, dtype=np.float64).sum() for array in arrays)))


def calls_of(step: Step) -> int:
    """Return how many functions of Python a step calls: what it does beside the work, on a busy machine too."""
    counts = []
    for _ in range(3):
        events: list[str] = []
        sys.setprofile(lambda _frame, event, _argument, to=events: to.append(event))
        step()
        sys.setprofile(None)
        counts.append(events.count("call"))
    return min(counts)


def steps_of(step: Step, clock: Callable[[], float], seconds: float) -> int:
    """Return how many steps make a block of about this length, by the quickest of three."""
    took = []
    for _ in range(3):
        start = clock()
        step()
        took.append(clock() - start)
    return max(1, min(2000, round(seconds / max(min(took), 1e-6))))


def main() -> None:
    """Measure what the job asks for."""
    job = json.load(sys.stdin)
    framework, options = load_framework(job["framework"], job["threads"])
    for asked in job["cases"]:
        print(json.dumps(compared(job, framework, options, asked)), flush=True)


if __name__ == "__main__":
    main()
