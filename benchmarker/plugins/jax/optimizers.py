"""The optimizers as pure functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

from benchmarker.api.optimizer import Optimizer, state_names
from benchmarker.plugins.common.hyperparameters import Hyperparameters

Arrays = Mapping[str, Any]
Slots = tuple[Any, ...]


class OptimizerState(NamedTuple):
    """What an optimizer remembers.

    Parameters
    ----------
    slots : mapping
        State arrays of each parameter by its name, in the order of
        :func:`~benchmarker.api.optimizer.state_names`.
    step : jax.Array or None
        Number of updates made, where the equations ask for it.
    """

    slots: Mapping[str, Slots]
    step: Any


def start_state(jnp: Any, optimizer: Optimizer, trained: Arrays) -> OptimizerState:
    """Return the state before the first update."""
    letters = state_names(optimizer.kind)
    slots = {name: tuple(jnp.zeros_like(p) for _ in letters) for name, p in trained.items()}
    counts_steps = optimizer.kind in ("adam", "adamw")
    return OptimizerState(slots, jnp.zeros((), "int32") if counts_steps else None)


def is_native(optimizer: Optimizer) -> bool:
    """Tell whether the equations are written here."""
    return optimizer.kind in _RULES and not optimizer.modifiers


def updated(
    jnp: Any,
    optimizer: Optimizer,
    constants: Any,
    trained: Arrays,
    gradients: Arrays,
    state: OptimizerState,
) -> tuple[dict[str, Any], OptimizerState]:
    """Return parameters and state after one update; see :class:`~benchmarker.api.optimizer.Optimizer`.

    Parameters
    ----------
    jnp : module
        ``jax.numpy``.
    optimizer : Optimizer
        As the program was built with it.
    constants : jax.Array
        The values that :attr:`Hyperparameters.names` has at this update, in its order.
    trained, gradients : mapping
        By name.
    state : OptimizerState
        What the updates before have left.
    """
    step = None if state.step is None else state.step + 1
    rule = _RULES[optimizer.kind]
    chosen = _with_values(optimizer, constants)
    # Left out where it was 0 when the program was built.
    decays = optimizer.weight_decay != 0.0 and optimizer.kind != "adamw"
    moved, slots = {}, {}
    for name, p in trained.items():
        g = gradients[name] + chosen.weight_decay * p if decays else gradients[name]
        moved[name], slots[name] = rule(jnp, chosen, p, g, state.slots[name], step)
    return moved, OptimizerState(slots, step)


def _with_values(optimizer: Optimizer, constants: Any) -> Any:
    """Return what has the constants of an optimizer, those of run time as scalar arrays."""
    given = {name: constants[place] for place, name in enumerate(Hyperparameters(optimizer).names)}
    return SimpleNamespace(**{**vars(optimizer), **given})


def _sgd(jnp: Any, o: Any, p: Any, g: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    return p - o.learning_rate * g, ()


def _momentum(jnp: Any, o: Any, p: Any, g: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    velocity = o.momentum * slots[0] + g
    return p - o.learning_rate * velocity, (velocity,)


def _nesterov(jnp: Any, o: Any, p: Any, g: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    velocity = o.momentum * slots[0] + g
    return p - o.learning_rate * (g + o.momentum * velocity), (velocity,)


def _correction(jnp: Any, beta: float, step: Any, dtype: Any) -> Any:
    """Return ``1 - beta^step`` without the rounding of a power that is nearly 1."""
    if beta == 0.0:
        return 1.0
    return -jnp.expm1(step.astype(dtype) * math.log(beta))


def _adam(jnp: Any, o: Any, p: Any, g: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    first = o.beta1 * slots[0] + (1.0 - o.beta1) * g
    second = o.beta2 * slots[1] + (1.0 - o.beta2) * jnp.square(g)
    mean = first / _correction(jnp, o.beta1, step, p.dtype)
    root = jnp.sqrt(second / _correction(jnp, o.beta2, step, p.dtype))
    return p - o.learning_rate * mean / (root + o.epsilon), (first, second)


def _adamw(jnp: Any, o: Any, p: Any, g: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    return _adam(jnp, o, p - o.learning_rate * o.weight_decay * p, g, slots, step)


def _rmsprop(jnp: Any, o: Any, p: Any, g: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
    squares = o.decay * slots[0] + (1.0 - o.decay) * jnp.square(g)
    return p - o.learning_rate * g / (jnp.sqrt(squares) + o.epsilon), (squares,)


def _adagrad(jnp: Any, o: Any, p: Any, g: Any, slots: Slots, step: Any) -> tuple[Any, Slots]:
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
