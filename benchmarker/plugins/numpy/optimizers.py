"""The optimizers, by the equations of ``framework.Optimizer``; parameters change in place."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.errors import UnsupportedError
from benchmarker.framework import OPTIMIZERS, Optimizer

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

Update = Callable[[Mapping[str, "Array"]], None]
"""Moves the parameters by the gradients given by name."""


def make_update(optimizer: Optimizer, parameters: Mapping[str, Array]) -> Update:
    """Return the update of ``parameters``, with its own state.

    Raises
    ------
    UnsupportedError
        On an optimizer of another kind.
    """
    makers = {"sgd": _sgd, "momentum": _momentum, "adam": _adam}
    if optimizer.kind not in makers:
        raise UnsupportedError(
            f"the optimizer must be one of {', '.join(OPTIMIZERS)}, got '{optimizer.kind}'"
        )
    return makers[optimizer.kind](optimizer, parameters)


def _sgd(optimizer: Optimizer, parameters: Mapping[str, Array]) -> Update:
    def update(gradients: Mapping[str, Array]) -> None:
        for name, p in parameters.items():
            p -= optimizer.learning_rate * gradients[name]

    return update


def _momentum(optimizer: Optimizer, parameters: Mapping[str, Array]) -> Update:
    velocity = {name: np.zeros_like(p) for name, p in parameters.items()}

    def update(gradients: Mapping[str, Array]) -> None:
        for name, p in parameters.items():
            v = velocity[name]
            v *= optimizer.momentum
            v += gradients[name]
            p -= optimizer.learning_rate * v

    return update


def _adam(optimizer: Optimizer, parameters: Mapping[str, Array]) -> Update:
    first = {name: np.zeros_like(p) for name, p in parameters.items()}
    second = {name: np.zeros_like(p) for name, p in parameters.items()}
    beta1, beta2 = optimizer.beta1, optimizer.beta2
    steps = 0

    def update(gradients: Mapping[str, Array]) -> None:
        nonlocal steps
        steps += 1
        rate = optimizer.learning_rate / (1.0 - beta1**steps)
        root = math.sqrt(1.0 - beta2**steps)
        for name, p in parameters.items():
            g, m, v = gradients[name], first[name], second[name]
            m *= beta1
            m += (1.0 - beta1) * g
            v *= beta2
            v += (1.0 - beta2) * np.square(g)
            p -= rate * m / (np.sqrt(v) / root + optimizer.epsilon)

    return update
