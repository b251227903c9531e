"""What a step costs whose learning rate and momentum may change, over one with both folded in as constants.

Two programs of one problem, by turns in one process, in JAX, MXNet or Keras over one of its backends. Prints one JSON
line; ``ratio`` is our step over the folded one, at most 1.005. Run it with an interpreter that has the framework:
``python benchmarks/lowering/constant_rate.py jax``; with ``--processes=8`` it is the geometric mean over so many, with
Student's t interval, since where two programs lie in one process' memory makes up to 5 % of a large step.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np  # noqa: E402
from paired import compare  # noqa: E402

from benchmarker.api.framework import Device, FrameworkPlugin  # noqa: E402
from benchmarker.api.optimizer import Optimizer  # noqa: E402
from benchmarker.data.values import draw_batch, draw_parameters  # noqa: E402
from benchmarker.graph.graph import Graph  # noqa: E402
from benchmarker.problems import mnist_mlp  # noqa: E402
from benchmarker.problems.resnet import RESNET18  # noqa: E402
from benchmarker.statistics import geometric_mean, student_t_interval  # noqa: E402

MOMENTUM = Optimizer("momentum", learning_rate=0.001, momentum=0.9)
PLACES = {
    "jax": "jax",
    "mxnet": "mxnet",
    **{f"keras_{backend}": f"keras.backend_{backend}" for backend in ("jax", "tensorflow", "pytorch")},
}
Step = Callable[[], None]


def step_of(program: Any, batch: Any) -> Step:
    """Return a step that returns when it is finished."""
    return lambda: program.synchronize(program.train_step(batch))


def fold_in_jax(program: Any) -> None:
    """Compile the step with the values as constants, and call it as the program calls its own."""
    values = np.asarray(program._constants)

    def train(state: Any, fixed: Any, batch: Any) -> Any:
        return program._steps.train(state, values, fixed, batch)

    compiled = program._compiled(train, (0,), program._state, program._fixed, program._shapes())

    def train_step(batch: Any) -> Any:
        loss, program._state = compiled(program._state, program._fixed, batch)
        return loss

    program.train_step = train_step


def fold_in_mxnet(program: Any) -> None:
    """Have the update operators called with numbers that nothing looks up."""
    program._updates.folded.constants = lambda _: (MOMENTUM.learning_rate, MOMENTUM.momentum)


def fold_in_keras(program: Any) -> None:
    """Give the optimizer numbers in place of its variables, before a step is traced."""
    import keras

    is_eager = keras.backend.backend() == "torch"
    optimizer = program._model.optimizer

    def constant(value: float) -> Any:
        return SimpleNamespace(value=value) if is_eager else value

    optimizer._learning_rate = constant(MOMENTUM.learning_rate)
    optimizer.changing["momentum"] = constant(MOMENTUM.momentum)


def graph_of(arguments: argparse.Namespace) -> Graph:
    """Return the graph of the problem."""
    if arguments.problem == "mnist_mlp":
        return mnist_mlp.benchmarker_problem().graph(arguments.batch_size)
    return RESNET18.benchmarker_problem().graph(
        arguments.batch_size, image_size=arguments.image_size, classes=100
    )


def programs_of(arguments: argparse.Namespace, graph: Graph) -> tuple[Any, Any]:
    """Return our program and that with constants."""
    plugin: FrameworkPlugin = importlib.import_module(
        f"benchmarker.plugins.{PLACES[arguments.framework]}"
    ).benchmarker_framework()
    os.environ.update(plugin.environment)
    module, _, name = plugin.implementation.partition(":")
    framework = getattr(importlib.import_module(module), name)()
    framework.configure(Device("cpu"), threads=arguments.threads, seed=0)
    settings: dict[str, Any] = {
        "mode": "training",
        "device": Device("cpu"),
        "precision": "fp32",
        "optimizer": MOMENTUM,
        "options": plugin.options(),
    }
    ours, folded = (framework.build(graph, draw_parameters(graph, 0), **settings) for _ in range(2))
    if arguments.folded_first:
        ours, folded = folded, ours
    fold = {"jax": fold_in_jax, "mxnet": fold_in_mxnet}.get(arguments.framework, fold_in_keras)
    fold(folded)
    return ours, folded


def over_processes(arguments: argparse.Namespace) -> None:
    """Print the mean over processes, in every second of which the folded program is built first."""
    names = ("problem", "batch_size", "image_size", "threads", "pairs", "steps")
    words = [f"--{name.replace('_', '-')}={getattr(arguments, name)}" for name in names]
    words += ["--cpu-time"] * arguments.cpu_time
    found = []
    for number in range(arguments.processes):
        command = [sys.executable, __file__, arguments.framework, *words, *["--folded-first"] * (number % 2)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
        print(f"{found[-1]['ratio']:.4f}", end=" ", file=sys.stderr, flush=True)
    ratios = [each["ratio"] for each in found]
    low, high = student_t_interval(ratios)
    mean = {"ratio": geometric_mean(ratios), "low": low, "high": high, "processes": len(ratios)}
    print(json.dumps({"name": found[0]["name"], **mean}))


def main() -> None:
    """Build, time and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("framework", choices=PLACES)
    parser.add_argument("--problem", choices=("mnist_mlp", "resnet18"), default="mnist_mlp")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--steps", type=int, default=100, help="steps of a block")
    parser.add_argument("--processes", type=int, default=0, help="two or more: the mean over so many")
    parser.add_argument(
        "--folded-first",
        action="store_true",
        help="build the other program first",
    )
    parser.add_argument(
        "--cpu-time", action="store_true", help="compare CPU time, on a machine with other work"
    )
    arguments = parser.parse_args()
    if arguments.processes > 1:
        over_processes(arguments)
        return
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    graph = graph_of(arguments)
    batch = draw_batch(graph, 0)
    ours, folded = (step_of(program, program.load(batch)) for program in programs_of(arguments, graph))
    name = f"{arguments.framework} {arguments.problem}: rate as a value / as a constant"
    compare(name, ours, folded, pairs=arguments.pairs, steps=arguments.steps, clock=clock).print()


if __name__ == "__main__":
    main()
