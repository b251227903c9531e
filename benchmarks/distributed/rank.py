"""One rank of ``native_ranks.py``: a framework's own exchange in a program of ours and by hand, in turns."""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
import time
from typing import Any

from benchmarker.api.framework import Device
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.world import World
from benchmarker.data.values import draw_batch, draw_parameters
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.problems.files import load_object
from benchmarker.worker.job import load_framework, load_framework_plugin

RATE, WARM_UP = 0.01, 20


def graph_of(rows: int, width: int) -> Graph:
    net = Network("perceptron", rows)
    x = net.relu(net.dense("fc1", net.input("features", (784,)), width))
    x = net.relu(net.dense("fc2", x, width))
    x = net.dense("fc3", x, 10)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, net.labels("label", 10)))
    return net.graph()


def main() -> None:
    name, rank, steps, rows, width, *addresses = sys.argv[1:]
    plugin = load_framework_plugin(f"benchmarker.plugins.{name}")
    world = World(int(rank), len(addresses), tuple(addresses))
    if plugin.rank_variables:
        os.environ.update(load_object(plugin.rank_variables)(world, "all-reduce"))
    framework: Any = load_framework(plugin)
    framework.join(world, "all-reduce")
    framework.configure(Device("cpu"), threads=1, seed=0)
    graph = graph_of(int(rows) // world.size, int(width))
    parameters, batch = draw_parameters(graph, 0), draw_batch(graph, int(rank))
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
    hand = importlib.import_module(f"hand_{name}")
    given = (framework._exchange._strategy,) if name == "tensorflow" else ()
    by_hand = hand.step_of(*given, parameters, batch, RATE)

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
    print(json.dumps({**found, "losses": {label: float(loss) for label, loss in losses.items()}}), flush=True)
    framework.leave()


if __name__ == "__main__":
    main()
