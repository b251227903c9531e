"""The optimizers as pure functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from benchmarker.framework import Optimizer

Arrays = Mapping[str, Any]
Slots = tuple[Any, ...]

SLOTS = {"sgd": 0, "momentum": 1, "nesterov": 1, "adam": 2, "adamw": 2, "rmsprop": 1, "adagrad": 1}
"""State arrays a parameter has."""


class OptimizerState(NamedTuple):
    """What an optimizer remembers.

    Parameters
    ----------
    slots : mapping
        State arrays of each parameter by its name.
    step : jax.Array or None
        Number of updates made, where the equations ask for it.
    """

    slots: Mapping[str, Slots]
    step: Any


def start_state(jnp: Any, optimizer: Optimizer, trained: Arrays) -> OptimizerState:
    """Return the state before the first update."""
    count = SLOTS[optimizer.kind]
    slots = {name: tuple(jnp.zeros_like(p) for _ in range(count)) for name, p in trained.items()}
    counts_steps = optimizer.kind in ("adam", "adamw")
    return OptimizerState(slots, jnp.zeros((), "int32") if counts_steps else None)


def updated(
    jnp: Any, optimizer: Optimizer, trained: Arrays, gradients: Arrays, state: OptimizerState
) -> tuple[dict[str, Any], OptimizerState]:
    """Return parameters and state after one update; see :class:`~benchmarker.framework.Optimizer`."""
    step = None if state.step is None else state.step + 1
    rule = _RULES[optimizer.kind]
    decay = 0.0 if optimizer.kind == "adamw" else optimizer.weight_decay
    moved, slots = {}, {}
    for name, p in trained.items():
        g = gradients[name] + decay * p if decay else gradients[name]
        moved[name], slots[name] = rule(jnp, optimizer, p, g, state.slots[name], step)
    return moved, OptimizerState(slots, step)


def _sgd(jnp: Any, o: Optimizer, p: Any, g: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    return p - o.learning_rate * g, ()


def _momentum(jnp: Any, o: Optimizer, p: Any, g: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    velocity = o.momentum * slots[0] + g
    return p - o.learning_rate * velocity, (velocity,)


def _nesterov(jnp: Any, o: Optimizer, p: Any, g: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    velocity = o.momentum * slots[0] + g
    return p - o.learning_rate * (g + o.momentum * velocity), (velocity,)


def _correction(jnp: Any, beta: float, step: Any, dtype: Any) -> Any:
    """Return ``1 - beta^step`` without the rounding of a power that is nearly 1."""
    if beta == 0.0:
        return 1.0
    return -jnp.expm1(step.astype(dtype) * math.log(beta))


def _adam(jnp: Any, o: Optimizer, p: Any, g: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    first = o.beta1 * slots[0] + (1.0 - o.beta1) * g
    second = o.beta2 * slots[1] + (1.0 - o.beta2) * jnp.square(g)
    mean = first / _correction(jnp, o.beta1, step, p.dtype)
    root = jnp.sqrt(second / _correction(jnp, o.beta2, step, p.dtype))
    return p - o.learning_rate * mean / (root + o.epsilon), (first, second)


def _adamw(jnp: Any, o: Optimizer, p: Any, g: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    return _adam(jnp, o, p - o.learning_rate * o.weight_decay * p, g, slots, step)


def _rmsprop(jnp: Any, o: Optimizer, p: Any, g: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    squares = o.decay * slots[0] + (1.0 - o.decay) * jnp.square(g)
    return p - o.learning_rate * g / (jnp.sqrt(squares) + o.epsilon), (squares,)


def _adagrad(jnp: Any, o: Optimizer, p: Any, g: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    squares = slots[0] + jnp.square(g)
    return p - o.learning_rate * g / (jnp.sqrt(squares) + o.epsilon), (squares,)


_RULES: Mapping[str, Callable[..., tuple[Any, Slots]]] = {
    "sgd": _sgd,
    "momentum": _momentum,
    "nesterov": _nesterov,
    "adam": _adam,
    "adamw": _adamw,
    "rmsprop": _rmsprop,
    "adagrad": _adagrad,
}
