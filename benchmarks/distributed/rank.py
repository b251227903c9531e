"""One rank of ``native_ranks.py``: a framework's own exchange in a program of ours and by hand, in turns.

After the ranks come the helpers that the scheme needs, which are run as a run's are.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.world import World
from benchmarker.data.values import draw_batch, draw_parameters
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.problems.files import load_object
from benchmarker.worker.loading import load_framework, load_framework_plugin

RATE, WARM_UP = 0.01, 20


def graph_of(rows: int, width: int) -> Graph:
    net = Network("perceptron", rows)
    x = net.relu(net.dense("fc1", net.input("features", (784,)), width))
    x = net.relu(net.dense("fc2", x, width))
    x = net.dense("fc3", x, 10)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, net.labels("label", 10)))
    return net.graph()


def hand_of(name: str, framework: Any) -> Callable[..., Callable[[], Any]]:
    """Return what makes the step by hand of parameters, mini-batch and rate."""
    made: Callable[..., Callable[[], Any]] = importlib.import_module(f"hand_{name.split('_')[0]}").step_of
    through = {
        "tensorflow": lambda: framework._exchange.strategy,
        "keras_tensorflow": lambda: framework._strategy,
        "mxnet": lambda: framework._store._native,
    }
    return functools.partial(made, through[name]()) if name in through else made


def main() -> None:
    entry, name, scheme, rank, size, steps, rows, width, *addresses = sys.argv[1:]
    plugin = load_framework_plugin(entry)
    ranks = int(size)
    world = World(int(rank), ranks, tuple(addresses[:ranks]), helpers=tuple(addresses[ranks:]))
    if world.rank >= ranks:
        role = plugin.schemes[scheme].helpers[world.rank - ranks]
        load_object(plugin.helper)(world, scheme, role).run(0)
        return
    if plugin.rank_variables:
        os.environ.update(load_object(plugin.rank_variables)(world, scheme))
    framework: Any = load_framework(plugin)
    framework.join(world, scheme)
    framework.configure(Device("cpu"), threads=1, seed=0)
    graph = graph_of(int(rows) // world.size, int(width))
    parameters, batch = draw_parameters(graph, 0), draw_batch(graph, world.rank)
    program = framework.build(
        graph,
        parameters,
        mode="training",
        device=Device("cpu"),
        precision="fp32",
        optimizer=Optimizer("sgd", learning_rate=RATE),
        options=plugin.options(),
    )
    native = program.load(batch)
    by_hand = hand_of(name, framework)(parameters, batch, RATE)

    def ours() -> Any:
        loss = program.train_step(native)
        program.synchronize(loss)
        return loss

    seconds: dict[str, list[float]] = {"ours": [], "by_hand": []}
    losses = {}
    for number in range(WARM_UP + int(steps)):
        for label, step in (("ours", ours), ("by_hand", by_hand))[:: 1 if number % 2 else -1]:
            start = time.perf_counter()
            losses[label] = step()
            seconds[label].append(time.perf_counter() - start)
    found = {label: statistics.median(each[WARM_UP:]) for label, each in seconds.items()}
    told = {"ours": float(program.fetch(losses["ours"])[0]), "by_hand": float(losses["by_hand"])}
    print(json.dumps({**found, "losses": told}), flush=True)
    framework.leave()
    # As a worker ends: threads of an exchange that the interpreter meets on its own way out may abort it.
    os._exit(0)


if __name__ == "__main__":
    main()
