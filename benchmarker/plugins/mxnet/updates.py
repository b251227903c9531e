"""Optimizers: MXNet's own update operators, pushed to its engine behind the gradients.

One operator a parameter: those for many parameters at once walk memory badly on a CPU (25 million
values, momentum: 18 ms one by one, 45 ms in fours, 220 ms in sixties).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from benchmarker.framework import Optimizer

Update = Callable[[], None]
"""Queue the update of every parameter."""


def make_update(optimizer: Optimizer, weights: Sequence[Any], gradients: Sequence[Any]) -> Update:
    """Return the update of ``weights`` by ``gradients``, both lists of MXNet arrays."""
    # Backward reaches the last layer's gradients first.
    pairs = list(zip(weights, gradients))[::-1]
    return {"sgd": _sgd, "momentum": _momentum, "adam": _adam}[optimizer.kind](optimizer, pairs)


def _sgd(optimizer: Optimizer, pairs: list[tuple[Any, Any]]) -> Update:
    from mxnet import nd

    step = nd.sgd_update
    rate = optimizer.learning_rate

    def update() -> None:
        for weight, gradient in pairs:
            step(weight, gradient, out=weight, lr=rate, wd=0.0)

    return update


def _momentum(optimizer: Optimizer, pairs: list[tuple[Any, Any]]) -> Update:
    """The buffer holds ``-lr * v``, which is the same while the learning rate is constant."""
    from mxnet import nd

    step = nd.sgd_mom_update
    rate, mu = optimizer.learning_rate, optimizer.momentum
    states = [(weight, gradient, nd.zeros_like(weight)) for weight, gradient in pairs]

    def update() -> None:
        for weight, gradient, buffer in states:
            step(weight, gradient, buffer, out=weight, lr=rate, momentum=mu, wd=0.0)

    return update


def _adam(optimizer: Optimizer, pairs: list[tuple[Any, Any]]) -> Update:
    """Native Adam adds epsilon to the uncorrected root: rate and epsilon are corrected for it each step."""
    from mxnet import nd

    step = nd.adam_update
    states = [(w, g, nd.zeros_like(w), nd.zeros_like(w)) for w, g in pairs]
    beta1, beta2 = optimizer.beta1, optimizer.beta2
    steps = 0

    def update() -> None:
        nonlocal steps
        steps += 1
        root = math.sqrt(1.0 - beta2**steps)
        rate = optimizer.learning_rate * root / (1.0 - beta1**steps)
        epsilon = optimizer.epsilon * root
        for weight, gradient, mean, square in states:
            step(
                weight,
                gradient,
                mean,
                square,
                out=weight,
                lr=rate,
                beta1=beta1,
                beta2=beta2,
                epsilon=epsilon,
                wd=0.0,
            )

    return update
