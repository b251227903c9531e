"""Paddle's optimizers where they compute the definitions of :class:`benchmarker.api.optimizer.Optimizer`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.graph.graph import Graph
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.common.layouts import Layout
from benchmarker.plugins.paddle.composed import ComposedUpdate
from benchmarker.training.optimizers.advance import places

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_LETTERS: Mapping[str, Mapping[str, str]] = {
    "sgd": {},
    "momentum": {"v": "velocity"},
    "nesterov": {"v": "velocity"},
    "adam": {"m": "moment1", "v": "moment2"},
    "adamw": {"m": "moment1", "v": "moment2"},
    "adagrad": {"s": "moment"},
}
"""Paddle's name of each letter of the equations. Its RMSProp adds epsilon under the root, and is another function."""
_POWERS = {"beta1_pow_acc": "beta1", "beta2_pow_acc": "beta2"}
"""What Adam keeps beside: the powers of its constants at the next update."""


class NativeUpdate:
    """One of Paddle's own optimizers.

    Parameters
    ----------
    optimizer : Optimizer
        The equations.
    trained : sequence of paddle.Tensor
        What it updates.
    """

    composed_rule = None

    def __init__(self, optimizer: Optimizer, trained: Sequence[Any]) -> None:
        import paddle

        self._known = Hyperparameters(optimizer)
        self._trained = trained
        self._native = _native(optimizer, trained)
        # Paddle makes the state in the first update.
        self._native._create_accumulators(
            paddle.base.framework.default_main_program().global_block(), trained
        )

    def step(self) -> None:
        """Make one update, and forget the gradients."""
        self._native.step()
        self._native.clear_grad(set_to_zero=False)

    def set_constants(self, values: Mapping[str, float]) -> None:
        """Use other constants from the next update on."""
        chosen, native = self._known.take(values), self._native
        native.set_lr(chosen.learning_rate)
        if chosen.kind in ("momentum", "nesterov"):
            native._momentum = chosen.momentum
            native._regularization_coeff = chosen.weight_decay
        elif chosen.kind == "adamw":
            native._weight_decay = chosen.weight_decay
        elif chosen.weight_decay:
            native.regularization._coeff = chosen.weight_decay

    def state(self) -> dict[str, list[Any]]:
        """Return the state tensors of all parameters, in their order, by the letter of the equations."""
        names = _LETTERS[self._known.optimizer.kind]
        return {letter: self._slots(name) for letter, name in names.items()}

    def extra_state(self) -> dict[str, list[Any]]:
        """Return what the optimizer keeps that the equations do not have, by its own name."""
        return {name: self._slots(name) for name in _POWERS if name in self._native._accumulators}

    def _slots(self, name: str) -> list[Any]:
        kept = self._native._accumulators[name]
        return [kept[parameter.name] for parameter in self._trained]

    def resume_from(self, steps: int, numbers: Mapping[str, float]) -> None:
        """Have the next update be that after ``steps``."""
        for name, slots in self.extra_state().items():
            power = getattr(self._known.optimizer, _POWERS[name]) ** (steps + 1)
            for slot in slots:
                slot.set_value(np.full(slot.shape, power, np.float32))


def _native(o: Optimizer, trained: Sequence[Any]) -> Any:
    from paddle import optimizer as native

    decay = o.weight_decay or None
    given: dict[str, Any] = {
        "learning_rate": o.learning_rate,
        "parameters": list(trained),
        "weight_decay": decay,
    }
    adam = {"beta1": o.beta1, "beta2": o.beta2, "epsilon": o.epsilon}
    makers: dict[str, Callable[[], Any]] = {
        "sgd": lambda: native.SGD(**given),
        "momentum": lambda: native.Momentum(momentum=o.momentum, **given),
        "nesterov": lambda: native.Momentum(momentum=o.momentum, use_nesterov=True, **given),
        "adam": lambda: native.Adam(**adam, **given),
        "adamw": lambda: native.AdamW(**adam, **{**given, "weight_decay": o.weight_decay}),
        "adagrad": lambda: native.Adagrad(epsilon=o.epsilon, **given),
    }
    return makers[o.kind]()


Update = Union[NativeUpdate, ComposedUpdate]


def made_update(
    optimizer: Optimizer,
    graph: Graph,
    native: Mapping[str, Sequence[Any]],
    layouts: Mapping[str, Layout],
) -> Update:
    """Return what moves parameters along the gradients that going backward left: Paddle's own where it has it."""
    if optimizer.kind in _LETTERS and not optimizer.modifiers:
        return NativeUpdate(optimizer, [tensor for p in graph.trainable for tensor in native[p.name]])
    where = places(graph, optimizer.modifiers.decay_of)
    return ComposedUpdate(Hyperparameters(optimizer), where, native, layouts)
