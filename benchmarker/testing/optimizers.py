"""Checks of the optimizers over several steps, as a share of the way that the parameters went."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarker.framework import OPTIMIZERS, Optimizer
from benchmarker.graph.graph import Graph
from benchmarker.graph.network import Network
from benchmarker.testing.result import CheckFailed, Measurement, relative_error
from benchmarker.testing.subject import Check, Subject, draw_parameters, train_beside_reference

_STEPS = 5
_TOLERANCE = 1e-3
"""Share of a parameter's way: float32 loses bits of a step that is small against the value, and Adam
divides by the root of small gradients; an equation that differs is off by 0.02 or more."""

_VARIANTS = {
    "sgd": Optimizer("sgd", learning_rate=0.1),
    "sgd-weight-decay": Optimizer("sgd", learning_rate=0.1, weight_decay=0.1),
    "momentum": Optimizer("momentum", learning_rate=0.05, momentum=0.8),
    "momentum-weight-decay": Optimizer("momentum", learning_rate=0.05, momentum=0.8, weight_decay=0.1),
    "nesterov": Optimizer("nesterov", learning_rate=0.05, momentum=0.8),
    "nesterov-weight-decay": Optimizer("nesterov", learning_rate=0.05, momentum=0.8, weight_decay=0.1),
    # A large epsilon shows on which side of a root or a bias correction it is added.
    "adam": Optimizer("adam", learning_rate=0.02, beta1=0.8, beta2=0.95, epsilon=1e-2),
    "adam-default-epsilon": Optimizer("adam", learning_rate=0.02),
    "adam-weight-decay": Optimizer("adam", learning_rate=0.02, epsilon=1e-2, weight_decay=0.1),
    "adamw": Optimizer("adamw", learning_rate=0.02, beta1=0.8, beta2=0.95, epsilon=1e-2, weight_decay=0.1),
    "rmsprop": Optimizer("rmsprop", learning_rate=0.01, decay=0.8, epsilon=1e-2),
    "rmsprop-weight-decay": Optimizer("rmsprop", learning_rate=0.01, epsilon=1e-2, weight_decay=0.1),
    "adagrad": Optimizer("adagrad", learning_rate=0.05, epsilon=1e-2),
    "adagrad-weight-decay": Optimizer("adagrad", learning_rate=0.05, epsilon=1e-10, weight_decay=0.1),
}


def _network() -> Graph:
    net = Network("optimizers", 16)
    x = net.input("x", (10,))
    label = net.labels("label", 4)
    x = net.tanh(net.dense("fc1", x, 12))
    x = net.dense("fc2", x, 4)
    net.output(x)
    net.loss(net.softmax_cross_entropy_loss(x, label))
    return net.graph()


def _travel(optimizer: Optimizer, subject: Subject) -> Measurement:
    graph = _network()
    start = draw_parameters(graph, subject.seed)
    found, expected = train_beside_reference(subject, graph, start, optimizer, _STEPS)
    worst, where = 0.0, ""
    for name, before in start.items():
        way = expected[name].astype(np.float64) - before
        if not way.any():
            raise CheckFailed(f"the reference did not move '{name}'")
        error = relative_error(found[name].astype(np.float64) - before, way)
        worst, where = max((worst, where), (error, name))
    return Measurement(worst, _TOLERANCE, f"share of the way of '{where}' after {_STEPS} steps")


def optimizer_checks() -> tuple[Check, ...]:
    """Return checks of every optimizer, with and without weight decay."""
    assert {o.kind for o in _VARIANTS.values()} == set(OPTIMIZERS)
    return tuple(
        Check(f"optimizer/{name}", partial(_travel, optimizer)) for name, optimizer in _VARIANTS.items()
    )
