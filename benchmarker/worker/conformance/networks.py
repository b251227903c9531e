"""Checks of small networks whose parts are used in ways that single operators do not show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.graph.types import Distribution
from benchmarker.worker.conformance.result import NETWORK_TOLERANCE, CheckFailed, Measurement, compare
from benchmarker.worker.conformance.subject import (
    Check,
    Subject,
    draw_batch,
    draw_parameters,
    fetch_outputs,
    reference_program,
    train_with_reference,
)


def _shared_convolution(net: Network) -> None:
    """A convolution's result is used twice: where a fusion would keep only one of its uses."""
    x = net.input("x", (3, 8, 8))
    y = net.convolution("conv", x, 4, 3, pad=1)
    z = net.add(net.relu(y), net.batch_norm("bn", y))
    net.output(z)
    net.loss(net.reduce_mean(net.mul(z, z)))


def _first_transposed_convolution(net: Network) -> None:
    """The data of a transposed convolution need no gradient, its weight does."""
    x = net.input("x", (5, 1, 1))
    y = net.tanh(net.transposed_convolution("up", x, 4, 4, bias=False))
    net.output(y)
    net.loss(net.reduce_mean(net.mul(y, y)))


def _tied_table(net: Network) -> None:
    """One table embeds and scores (a gather, and a product with its transpose)."""
    token = net.input("token", (6,), "int64", Distribution("integers", 11))
    label = net.input("label", (6,), "int64", Distribution("integers", 11))
    table = net.parameter("table", (11, 8), Distribution("normal", 0.3))
    x = net.reshape(net.gather(table, token), shape=(-1, 8))
    x = net.gemm(net.tanh(net.dense("fc", x, 8)), table, trans_b=True)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, net.reshape(label, shape=(-1,))))


def _layer_applied_twice(net: Network) -> None:
    """One recurrent layer's weights run over two sequences."""
    x, y = net.input("x", (5, 4)), net.input("y", (5, 4))
    start = Distribution("uniform", 0.4)
    weights = [net.parameter(n, s, start) for n, s in (("w", (1, 9, 4)), ("r", (1, 9, 3)), ("b", (1, 18)))]
    ends = [net.gru(net.transpose(v, perm=(1, 0, 2)), *weights, hidden_size=3)[1] for v in (x, y)]
    z = net.sub(*ends)
    net.output(z)
    net.loss(net.reduce_mean(net.mul(z, z)))


def _cut_branch(net: Network) -> None:
    """Nothing flows back through one of two branches, nor into a constant."""
    x = net.input("x", (6,))
    y = net.dense("fc1", x, 6)
    table = net.constant("table", (6,), Distribution("values", values=(0.5, -1.0, 2.0)))
    z = net.mul(net.sigmoid(y), net.add(net.stop_gradient(net.dense("fc2", y, 6)), table))
    z = net.add(z, net.dense("fc2_again", y, 6))
    net.output(z)
    net.loss(net.reduce_mean(net.add(net.mul(z, z), net.affine(net.dense("fc3", y, 6), alpha=0.1))))


_NETWORKS: Mapping[str, Callable[[Network], None]] = {
    "shared-convolution": _shared_convolution,
    "first-transposed-convolution": _first_transposed_convolution,
    "tied-table": _tied_table,
    "layer-applied-twice": _layer_applied_twice,
    "cut-branch": _cut_branch,
}
_OPTIMIZERS: Mapping[str, Optimizer] = {
    "momentum": Optimizer("momentum", learning_rate=0.05),
    "adam": Optimizer("adam", learning_rate=0.01, epsilon=1e-2),
}
_STEPS = 3
_WAY = 1e-3
"""Share of a parameter's way: float32 loses bits of a step that is small against the value."""


def _graph(build: Callable[[Network], None]) -> Graph:
    net = Network("network", 3)
    build(net)
    return net.graph()


def _inference(build: Callable[[Network], None], subject: Subject) -> Measurement:
    graph = _graph(build).without_loss()
    parameters, batch = draw_parameters(graph, subject.seed), draw_batch(graph, subject.seed)
    program = subject.program(graph, parameters, "inference")
    reference = reference_program(graph, parameters, "inference")
    found = fetch_outputs(program, graph, program.load(batch))
    return compare(found, fetch_outputs(reference, graph, reference.load(batch)), NETWORK_TOLERANCE)


def _gradient(build: Callable[[Network], None], subject: Subject) -> Measurement:
    graph = _graph(build)
    parameters, batch = draw_parameters(graph, subject.seed), draw_batch(graph, subject.seed)
    program = subject.program(graph, parameters, "training")
    reference = reference_program(graph, parameters, "training")
    _, found = program.gradients(program.load(batch))
    _, expected = reference.gradients(reference.load(batch))
    reached = {name: g for name, g in expected.items() if g.any()}
    cut = [name for name in expected if name not in reached and np.asarray(found[name]).any()]
    if cut:
        raise CheckFailed(f"nothing flows back to {', '.join(cut)}, yet it has a gradient")
    return compare({name: found[name] for name in reached}, reached, NETWORK_TOLERANCE)


def _training(build: Callable[[Network], None], optimizer: Optimizer, subject: Subject) -> Measurement:
    graph = _graph(build)
    start = draw_parameters(graph, subject.seed)
    found, expected = train_with_reference(subject, graph, start, optimizer, _STEPS)
    ways = {name: expected[name].astype(np.float64) - before for name, before in start.items()}
    moved = {name: way for name, way in ways.items() if way.any()}
    still = [name for name in ways if name not in moved and (found[name] != start[name]).any()]
    if still:
        raise CheckFailed(f"{', '.join(still)} must not change")
    return compare({name: found[name].astype(np.float64) - start[name] for name in moved}, moved, _WAY)


def network_checks() -> tuple[Check, ...]:
    """Return checks of outputs, gradients and training of each network."""
    checks = []
    for name, build in _NETWORKS.items():
        checks.append(Check(f"network/{name}/inference", partial(_inference, build)))
        checks.append(Check(f"network/{name}/gradient", partial(_gradient, build)))
        for kind, optimizer in _OPTIMIZERS.items():
            checks.append(Check(f"network/{name}/{kind}", partial(_training, build, optimizer)))
    return tuple(checks)
