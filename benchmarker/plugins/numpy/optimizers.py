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
    makers = {
        "sgd": _sgd,
        "momentum": _momentum,
        "nesterov": _momentum,
        "adam": _adam,
        "adamw": _adam,
        "rmsprop": _rmsprop,
        "adagrad": _adagrad,
    }
    if optimizer.kind not in makers:
        raise UnsupportedError(
            f"the optimizer must be one of {', '.join(OPTIMIZERS)}, got '{optimizer.kind}'"
        )
    update = makers[optimizer.kind](optimizer, parameters)
    if optimizer.weight_decay == 0.0:
        return update
    decay = _decoupled if optimizer.kind == "adamw" else _coupled
    return decay(optimizer, parameters, update)


def _coupled(optimizer: Optimizer, parameters: Mapping[str, Array], update: Update) -> Update:
    """Add the decay to the gradients."""

    def decayed(gradients: Mapping[str, Array]) -> None:
        update({name: gradients[name] + optimizer.weight_decay * p for name, p in parameters.items()})

    return decayed


def _decoupled(optimizer: Optimizer, parameters: Mapping[str, Array], update: Update) -> Update:
    """Shrink the parameters before the step."""

    def decayed(gradients: Mapping[str, Array]) -> None:
        for p in parameters.values():
            p *= 1.0 - optimizer.learning_rate * optimizer.weight_decay
        update(gradients)

    return decayed


def _state(parameters: Mapping[str, Array]) -> dict[str, Array]:
    return {name: np.zeros_like(p) for name, p in parameters.items()}


def _sgd(optimizer: Optimizer, parameters: Mapping[str, Array]) -> Update:
    def update(gradients: Mapping[str, Array]) -> None:
        for name, p in parameters.items():
            p -= optimizer.learning_rate * gradients[name]

    return update


def _momentum(optimizer: Optimizer, parameters: Mapping[str, Array]) -> Update:
    velocity = _state(parameters)
    mu, looks_ahead = optimizer.momentum, optimizer.kind == "nesterov"

    def update(gradients: Mapping[str, Array]) -> None:
        for name, p in parameters.items():
            g, v = gradients[name], velocity[name]
            v *= mu
            v += g
            p -= optimizer.learning_rate * (g + mu * v if looks_ahead else v)

    return update


def _adam(optimizer: Optimizer, parameters: Mapping[str, Array]) -> Update:
    first, second = _state(parameters), _state(parameters)
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


def _rmsprop(optimizer: Optimizer, parameters: Mapping[str, Array]) -> Update:
    return _scaled(optimizer, parameters, optimizer.decay, 1.0 - optimizer.decay)


def _adagrad(optimizer: Optimizer, parameters: Mapping[str, Array]) -> Update:
    return _scaled(optimizer, parameters, 1.0, 1.0)


def _scaled(optimizer: Optimizer, parameters: Mapping[str, Array], old: float, new: float) -> Update:
    """Divide the gradient by the root of ``s``, which follows ``s = old * s + new * g^2``."""
    squares = _state(parameters)

    def update(gradients: Mapping[str, Array]) -> None:
        for name, p in parameters.items():
            g, s = gradients[name], squares[name]
            s *= old
            s += new * np.square(g)
            p -= optimizer.learning_rate * g / (np.sqrt(s) + optimizer.epsilon)

    return update
