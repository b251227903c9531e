"""The constants of an optimizer: what each may be, and which kinds have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarker.errors import did_you_mean
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


def constant_faults(name: str, values: Sequence[float], kinds: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with a constant for optimizers of some kinds: its name, its values, that none has it."""
    if name not in HYPERPARAMETERS:
        yield f"an optimizer has no '{name}'{did_you_mean(name, HYPERPARAMETERS)}"
        return
    words, rule = name.replace("_", " "), HYPERPARAMETERS[name]
    for value in values:
        if not rule.accepts(value):
            yield f"the {words} must be {rule.allowed}, got {value:g}"
    if kinds and not any(name in constants(kind) for kind in kinds if kind in OPTIMIZERS):
        which = " or ".join(f"'{kind}'" for kind in dict.fromkeys(kinds))
        yield f"optimizer {which} has no {words}; {', '.join(owners(name))} have it"
