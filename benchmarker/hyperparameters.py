"""The constants of an optimizer: what each may be, and which kinds have it."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarker.framework import OPTIMIZERS
from benchmarker.layers.rules import Real, Rule

_RATIO = Real(least=0.0, below=1.0)
_NOT_NEGATIVE = Real(least=0.0)

HYPERPARAMETERS: Mapping[str, Rule] = {
    "learning_rate": _NOT_NEGATIVE,
    "momentum": _RATIO,
    "beta1": _RATIO,
    "beta2": _RATIO,
    "epsilon": _NOT_NEGATIVE,
    "weight_decay": _NOT_NEGATIVE,
    "decay": _RATIO,
}
"""Every constant of :class:`~benchmarker.framework.Optimizer`, and what it may be."""

_OWNERS: Mapping[str, tuple[str, ...]] = {
    "momentum": ("momentum", "nesterov"),
    "beta1": ("adam", "adamw"),
    "beta2": ("adam", "adamw"),
    "epsilon": ("adam", "adamw", "rmsprop", "adagrad"),
    "decay": ("rmsprop",),
}


def owners(name: str) -> tuple[str, ...]:
    """Return the kinds of optimizer that a constant is part of."""
    return _OWNERS.get(name, OPTIMIZERS)


def constants(kind: str) -> tuple[str, ...]:
    """Return the constants that a kind of optimizer has."""
    return tuple(name for name in HYPERPARAMETERS if kind in owners(name))
