"""One rank of a training: several are run at once by ``plugins/test_native_schemes.py``.

``python -m tests.in_framework.ranks JOB`` takes a :class:`RankTask` as JSON, trains each case on its rows of the same
mini-batches, and prints a line of JSON a case; weights at the end are in the folder. Without a scheme a task is alone
and trains on all rows.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarker.api.framework import Device, Framework, FrameworkPlugin
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.program import Program
from benchmarker.api.world import World
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.problems.files import load_object
from benchmarker.worker.conformance.subject import draw_batch, draw_parameters
from benchmarker.worker.loading import load_framework, load_framework_plugin

ROWS, STEPS = 8, 5
OPTIMIZERS = {
    "sgd": Optimizer("sgd", learning_rate=0.1),
    "momentum": Optimizer("momentum", learning_rate=0.05, momentum=0.9, weight_decay=1e-3),
    "adam": Optimizer("adam", learning_rate=1e-3, epsilon=1e-3),
    "clipped": Optimizer("momentum", learning_rate=0.1).with_constants({"clip_norm": 0.1}),
}
MASKS_APART = 7919


@dataclass(frozen=True)
class Case:
    """A training.

    Parameters
    ----------
    network : {"mlp", "images", "normalized", "dropped", "embedded"}
        What is trained.
    optimizer : str
        Of :data:`OPTIMIZERS`.
    precision : str
        Of the plug-in.
    micro : int
        Micro-batches that a rank's rows are cut into; 1 trains on them at once.
    alike : bool
        Whether all ranks have the first rank's rows.
    killed : int or None
        The rank that ends itself after two steps.
    """

    network: str
    optimizer: str = "sgd"
    precision: str = "fp32"
    micro: int = 1
    alike: bool = False
    killed: int | None = None


@dataclass(frozen=True)
class RankTask:
    """What a rank does.

    Parameters
    ----------
    plugin : str
        The framework's module.
    scheme : str
        Its native scheme; empty for none.
    rank : int
        Of this process.
    addresses : tuple of str
        Of all ranks.
    folder : str
        Where weights are left.
    cases : tuple of Case
        The trainings.
    late_seconds : float
        How long it waits before it meets the others, as one whose imports are slow.
    """

    plugin: str
    scheme: str
    rank: int
    addresses: tuple[str, ...]
    folder: str
    cases: tuple[Case, ...]
    late_seconds: float = 0.0

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> RankTask:
        values = json.loads(text)
        cases = tuple(Case(**case) for case in values.pop("cases"))
        return RankTask(**{**values, "addresses": tuple(values["addresses"]), "cases": cases})

    def weights(self, case: int) -> Path:
        """The file of a case's weights, as this rank has them at the end."""
        return Path(self.folder) / f"{self.scheme or 'alone'}-{len(self.addresses)}-{self.rank}-{case}.npz"


def graph_of(name: str, rows: int) -> Graph:
    net = Network(name, rows)
    if name in ("images", "normalized"):
        x = net.convolution("conv1", net.input("image", (3, 8, 6)), 4, 3, pad=1, bias=name == "images")
        x = net.relu(net.batch_norm("bn", x) if name == "normalized" else x)
        x = net.flatten(net.pool(net.convolution("conv2", x, 4, 3, pad=1), 2))
    elif name == "embedded":
        x = net.flatten(net.embedding("table", net.labels("kind", 9), 9, 12))
    else:
        x = net.relu(net.dense("fc1", net.input("features", (12,)), 16))
        x = net.dropout(x, ratio=0.5 if name == "dropped" else 0.0)
    x = net.dense("fc2", x, 5)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, net.labels("label", 5)))
    return net.graph()


def rows_of(batch: Mapping[str, Any], part: int, parts: int) -> dict[str, Any]:
    each = ROWS // parts
    return {name: array[part * each : (part + 1) * each] for name, array in batch.items()}


def digest_of(arrays: Mapping[str, Any]) -> str:
    found = hashlib.sha256()
    for name in sorted(arrays):
        found.update(np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()


def train(task: RankTask, number: int, framework: Framework, plugin: FrameworkPlugin) -> dict[str, Any]:
    """Train a case; return what can be compared in words, and leave the weights in a file."""
    case, size = task.cases[number], len(task.addresses)
    parts = 1 if task.scheme and plugin.schemes[task.scheme].rows == "all" else size
    graph = graph_of(case.network, ROWS // parts // case.micro)
    whole = graph_of(case.network, ROWS)
    program = framework.build(
        graph,
        draw_parameters(whole, 0),
        mode="training",
        device=Device("cpu"),
        precision=case.precision,
        optimizer=OPTIMIZERS[case.optimizer],
        options=plugin.options(),
    )
    losses, digests = [], []
    trained = [p.name for p in graph.trainable]
    for step in range(STEPS):
        batch = rows_of(draw_batch(whole, step), 0 if case.alike else task.rank, size)
        output = _step(program, batch, case.micro)
        program.synchronize(output)
        losses.append(float(program.fetch(output)[0]))
        parameters: dict[str, Any] = program.parameters()
        digests.append(digest_of({name: parameters[name] for name in trained}))
        if case.killed == task.rank and step == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if task.rank == 0:
            # What one rank asks alone would wait for the others if it were an exchange.
            program.optimizer_state()
    np.savez(task.weights(number), **parameters)
    state = program.optimizer_state()
    told = {letter: digest_of(arrays) for letter, arrays in state.items()}
    name = trained[task.rank % len(trained)]
    program.assign({name: parameters[name] + 1})
    moved = program.parameters()[name] - parameters[name]
    loss, gradients = program.gradients(program.load(_parts(batch, case.micro)[0]))
    return {
        "losses": losses,
        "digests": digests,
        "state": told,
        "exchanged": program.exchanged(),
        "assigned": bool(np.allclose(moved, 1, atol=1e-5)),
        "gradients": sorted(gradients) == sorted(trained) and bool(np.isfinite(loss)),
        "variant": program.optimizer_variant(),
    }


def _step(program: Program, batch: Mapping[str, Any], micro: int) -> Any:
    if micro == 1:
        return program.train_step(program.load(batch))
    return program.train_micro([program.load(part) for part in _parts(batch, micro)])


def _parts(batch: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    rows = len(next(iter(batch.values()))) // count
    return [{n: a[i * rows : (i + 1) * rows] for n, a in batch.items()} for i in range(count)]


def main() -> None:
    task = RankTask.from_json(sys.argv[1])
    plugin = load_framework_plugin(task.plugin)
    world = World(task.rank, len(task.addresses), task.addresses, timeout=120.0)
    if task.scheme and plugin.rank_variables:
        os.environ.update(load_object(plugin.rank_variables)(world, task.scheme))
    framework = load_framework(plugin)
    time.sleep(task.late_seconds)
    if task.scheme:
        framework.join(world, task.scheme)
    framework.configure(Device("cpu"), threads=1, seed=MASKS_APART * task.rank)
    for number in range(len(task.cases)):
        print(json.dumps(train(task, number, framework, plugin)), flush=True)
    if task.scheme:
        framework.leave()


if __name__ == "__main__":
    main()
