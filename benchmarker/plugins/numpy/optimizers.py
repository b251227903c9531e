"""Optimizers as NumPy computes them quickest, in place; the rules themselves are in ``equations.py``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer, state_names
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.common.hyperparameters import Hyperparameters

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

Update = Callable[[Mapping[str, "Array"]], None]
"""Moves the parameters by the gradients given by name."""
State = Mapping[str, Mapping[str, "Array"]]
"""An array of each parameter by the letter of the equations and the parameter's name; changes in place."""


def start_state(optimizer: Optimizer, parameters: Mapping[str, Array]) -> State:
    """Return the state before the first update: zeros."""
    letters = state_names(optimizer.kind) if optimizer.kind in NATIVE else ()
    return {letter: {name: np.zeros_like(p) for name, p in parameters.items()} for letter in letters}


def make_update(
    optimizer: Optimizer | Hyperparameters,
    parameters: Mapping[str, Array],
    state: State | None = None,
    *,
    steps: int = 0,
) -> Update:
    """Return the update of ``parameters``.

    Parameters
    ----------
    optimizer : Optimizer or Hyperparameters
        The equations, whose constants may change between updates.
    parameters : mapping
        What it moves, in place.
    state : mapping, optional
        What it remembers, changed in place; by default that of the start.
    steps : int
        How many updates led to ``state``.

    Raises
    ------
    UnsupportedError
        On an optimizer of another kind.
    """
    known = Hyperparameters(optimizer) if isinstance(optimizer, Optimizer) else optimizer
    chosen = known.optimizer
    if chosen.kind not in NATIVE:
        raise UnsupportedError(f"the optimizer must be one of {', '.join(NATIVE)}, got '{chosen.kind}'")
    remembered = start_state(chosen, parameters) if state is None else state
    update = NATIVE[chosen.kind](known, parameters, remembered, steps)
    if chosen.weight_decay == 0.0:
        return update
    decay = _decoupled if chosen.kind == "adamw" else _coupled
    return decay(known, parameters, update)


def _coupled(known: Hyperparameters, parameters: Mapping[str, Array], update: Update) -> Update:
    """Add the decay to the gradients."""

    def decayed(gradients: Mapping[str, Array]) -> None:
        decay = known.optimizer.weight_decay
        update({name: gradients[name] + decay * p for name, p in parameters.items()})

    return decayed


def _decoupled(known: Hyperparameters, parameters: Mapping[str, Array], update: Update) -> Update:
    """Shrink the parameters before the step."""

    def decayed(gradients: Mapping[str, Array]) -> None:
        for p in parameters.values():
            p *= 1.0 - known.optimizer.learning_rate * known.optimizer.weight_decay
        update(gradients)

    return decayed


def _sgd(known: Hyperparameters, parameters: Mapping[str, Array], state: State, steps: int) -> Update:
    def update(gradients: Mapping[str, Array]) -> None:
        for name, p in parameters.items():
            p -= known.optimizer.learning_rate * gradients[name]

    return update


def _momentum(known: Hyperparameters, parameters: Mapping[str, Array], state: State, steps: int) -> Update:
    velocity = state["v"]
    looks_ahead = known.optimizer.kind == "nesterov"

    def update(gradients: Mapping[str, Array]) -> None:
        rate, mu = known.optimizer.learning_rate, known.optimizer.momentum
        for name, p in parameters.items():
            g, v = gradients[name], velocity[name]
            v *= mu
            v += g
            p -= rate * (g + mu * v if looks_ahead else v)

    return update


def _adam(known: Hyperparameters, parameters: Mapping[str, Array], state: State, steps: int) -> Update:
    first, second = state["m"], state["v"]
    beta1, beta2, epsilon = known.optimizer.beta1, known.optimizer.beta2, known.optimizer.epsilon

    def update(gradients: Mapping[str, Array]) -> None:
        nonlocal steps
        steps += 1
        rate = known.optimizer.learning_rate / (1.0 - beta1**steps)
        root = math.sqrt(1.0 - beta2**steps)
        for name, p in parameters.items():
            g, m, v = gradients[name], first[name], second[name]
            m *= beta1
            m += (1.0 - beta1) * g
            v *= beta2
            v += (1.0 - beta2) * np.square(g)
            p -= rate * m / (np.sqrt(v) / root + epsilon)

    return update


def _rmsprop(known: Hyperparameters, parameters: Mapping[str, Array], state: State, steps: int) -> Update:
    decay = known.optimizer.decay
    return _scaled(known, parameters, state["s"], decay, 1.0 - decay)


def _adagrad(known: Hyperparameters, parameters: Mapping[str, Array], state: State, steps: int) -> Update:
    return _scaled(known, parameters, state["s"], 1.0, 1.0)


def _scaled(
    known: Hyperparameters,
    parameters: Mapping[str, Array],
    squares: Mapping[str, Array],
    old: float,
    new: float,
) -> Update:
    """Divide the gradient by the root of ``s``, which follows ``s = old * s + new * g^2``."""
    epsilon = known.optimizer.epsilon

    def update(gradients: Mapping[str, Array]) -> None:
        for name, p in parameters.items():
            g, s = gradients[name], squares[name]
            s *= old
            s += new * np.square(g)
            p -= known.optimizer.learning_rate * g / (np.sqrt(s) + epsilon)

    return update


NATIVE: Mapping[str, Callable[[Hyperparameters, Mapping[str, Array], State, int], Update]] = {
    "sgd": _sgd,
    "momentum": _momentum,
    "nesterov": _momentum,
    "adam": _adam,
    "adamw": _adam,
    "rmsprop": _rmsprop,
    "adagrad": _adagrad,
}
"""The optimizers that are written here, by kind."""
