"""Optimizers: MXNet's own update operators, pushed to its engine behind the gradients.

One operator a parameter: those for many parameters at once walk memory badly on a CPU (25 million
values, momentum: 18 ms one by one, 45 ms in fours, 220 ms in sixties).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarker.api.optimizer import Optimizer
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.common.velocity import FoldedVelocity

Update = Callable[[], None]
"""Queue the update of every parameter."""
State = dict[str, tuple[list[Any], float]]
"""By the letter of the equations MXNet's arrays, in the order of the weights, and what they are to be multiplied by."""
_Pairs = list[tuple[Any, Any]]


@dataclass
class _Count:
    """How many updates were made."""

    updates: int = 0


@dataclass
class Updates:
    """An optimizer's updates of some weights.

    Parameters
    ----------
    update : callable
        Queues the update of every parameter.
    state : callable
        Returns the state that the updates so far have left.
    count : _Count
        Their number, where the equations ask for it.
    folded : FoldedVelocity, optional
        The rate that a momentum buffer is of, if there is one.
    """

    update: Update
    state: Callable[[], State]
    count: _Count = field(default_factory=_Count)
    folded: FoldedVelocity | None = None

    def resume_from(self, optimizer: Optimizer, steps: int, rate: float | None) -> None:
        """Have the next update be that after ``steps``, and a momentum buffer of a rate."""
        self.count.updates = steps
        if self.folded is not None:
            self.folded.resume_from(optimizer, rate)


def is_native(optimizer: Optimizer) -> bool:
    """Tell whether MXNet has an update operator that computes the same."""
    return optimizer.kind in _UPDATES and not optimizer.modifiers


def make_updates(known: Hyperparameters, weights: Sequence[Any], gradients: Sequence[Any]) -> Updates:
    """Return the updates of ``weights`` by ``gradients``, lists of MXNet arrays; constants may change between them."""
    # Backward reaches the last layer's gradients first.
    pairs = list(zip(weights, gradients))[::-1]
    return _UPDATES[known.optimizer.kind](known, pairs)


def _told(letters: Mapping[str, Iterable[Any]], factor: float = 1.0) -> State:
    return {letter: (list(arrays)[::-1], factor) for letter, arrays in letters.items()}


def _sgd(known: Hyperparameters, pairs: _Pairs) -> Updates:
    from mxnet import nd

    step = nd.sgd_update

    def update() -> None:
        rate, decay = known.optimizer.learning_rate, known.optimizer.weight_decay
        for weight, gradient in pairs:
            step(weight, gradient, out=weight, lr=rate, wd=decay)

    return Updates(update, dict)


def _momentum(known: Hyperparameters, pairs: _Pairs) -> Updates:
    """The buffer holds ``-lr * v``: see :class:`~benchmarker.plugins.common.velocity.FoldedVelocity`."""
    from mxnet import nd

    step = nd.sgd_mom_update
    folded = FoldedVelocity()
    states = [(weight, gradient, nd.zeros_like(weight)) for weight, gradient in pairs]

    def update() -> None:
        rate, mu = folded.constants(known.optimizer)
        decay = known.optimizer.weight_decay
        for weight, gradient, buffer in states:
            step(weight, gradient, buffer, out=weight, lr=rate, momentum=mu, wd=decay)

    def state() -> State:
        return _told({"v": (buffer for _, _, buffer in states)}, folded.factor())

    return Updates(update, state, folded=folded)


def _nesterov(known: Hyperparameters, pairs: _Pairs) -> Updates:
    """Native Nesterov leaves the weight decay out of its look ahead: it is added to the gradient before.

    Its buffer holds ``-lr * v`` too, but its look ahead has the momentum that the buffer has: where the rate changes,
    the buffer is scaled before.
    """
    from mxnet import nd

    step, add = nd.nag_mom_update, nd.sgd_update
    folded = FoldedVelocity()
    states = [(weight, gradient, nd.zeros_like(weight)) for weight, gradient in pairs]

    def update() -> None:
        scale = folded.change(known.optimizer)
        rate, mu = folded.rate, known.optimizer.momentum
        decay = known.optimizer.weight_decay
        for weight, gradient, buffer in states:
            if scale != 1.0:
                buffer *= scale
            if decay:
                # One pass over memory: gradient - (-decay) * weight.
                add(gradient, weight, out=gradient, lr=-decay, wd=0.0)
            step(weight, gradient, buffer, out=weight, lr=rate, momentum=mu, wd=0.0)

    def state() -> State:
        return _told({"v": (buffer for _, _, buffer in states)}, folded.factor())

    return Updates(update, state, folded=folded)


_Constants = Callable[[int], tuple[float, float, float, float]]
"""Learning rate, beta1, beta2 and epsilon of native Adam at a step."""


_Letters = Callable[[Iterable[Any], Iterable[Any], int], State]
"""The state by letters, of native Adam's two arrays of each weight after some steps."""


def _adam_letters(means: Iterable[Any], squares: Iterable[Any], steps: int) -> State:
    return _told({"m": means, "v": squares})


def _adaptive(known: Hyperparameters, pairs: _Pairs, constants: _Constants, letters: _Letters) -> Updates:
    """Return updates by native Adam: ``p -= rate * m / (sqrt(s) + epsilon)``, ``m`` and ``s`` not corrected."""
    from mxnet import nd

    step = nd.adam_update
    states = [(w, g, nd.zeros_like(w), nd.zeros_like(w)) for w, g in pairs]
    count = _Count()

    def update() -> None:
        count.updates += 1
        rate, beta1, beta2, epsilon = constants(count.updates)
        decay = known.optimizer.weight_decay
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
                wd=decay,
            )

    def state() -> State:
        return letters((m for _, _, m, _ in states), (s for *_, s in states), count.updates)

    return Updates(update, state, count)


def _corrected(known: Hyperparameters) -> _Constants:
    """Adam's constants: native Adam adds epsilon to the uncorrected root, so both are corrected each step."""
    beta1, beta2, epsilon = known.optimizer.beta1, known.optimizer.beta2, known.optimizer.epsilon

    def constants(step: int) -> tuple[float, float, float, float]:
        root = math.sqrt(1.0 - beta2**step)
        rate = known.optimizer.learning_rate * root / (1.0 - beta1**step)
        return rate, beta1, beta2, epsilon * root

    return constants


def _adam(known: Hyperparameters, pairs: _Pairs) -> Updates:
    return _adaptive(known, pairs, _corrected(known), _adam_letters)


def _adamw(known: Hyperparameters, pairs: _Pairs) -> Updates:
    from mxnet import nd

    step = nd.contrib.adamw_update
    constants = _corrected(known)
    states = [(w, g, nd.zeros_like(w), nd.zeros_like(w)) for w, g in pairs]
    scale = nd.ones((1,), ctx=pairs[0][0].context) if pairs else None
    count = _Count()

    def update() -> None:
        count.updates += 1
        rate, beta1, beta2, epsilon = constants(count.updates)
        decay = known.optimizer.learning_rate * known.optimizer.weight_decay
        for weight, gradient, mean, square in states:
            step(
                weight,
                gradient,
                mean,
                square,
                scale,
                out=weight,
                lr=rate,
                beta1=beta1,
                beta2=beta2,
                epsilon=epsilon,
                wd=decay,
                eta=1.0,
            )

    def state() -> State:
        return _told({"m": (m for _, _, m, _ in states), "v": (v for *_, v in states)})

    return Updates(update, state, count)


def _rmsprop(known: Hyperparameters, pairs: _Pairs) -> Updates:
    """Native RMSProp adds epsilon under the root; Adam without a mean is the same with it outside."""

    def constants(step: int) -> tuple[float, float, float, float]:
        chosen: Optimizer = known.optimizer
        return chosen.learning_rate, 0.0, chosen.decay, chosen.epsilon

    return _adaptive(known, pairs, constants, lambda _, squares, __: _told({"s": squares}))


def _adagrad(known: Hyperparameters, pairs: _Pairs) -> Updates:
    """Native AdaGrad adds epsilon under the root; Adam without a mean can have it outside.

    With ``beta2 = (t - 1) / t`` its ``s`` is AdaGrad's sum over ``t``.
    """

    def constants(step: int) -> tuple[float, float, float, float]:
        root = math.sqrt(step)
        return known.optimizer.learning_rate / root, 0.0, (step - 1) / step, known.optimizer.epsilon / root

    def letters(_: Iterable[Any], means: Iterable[Any], steps: int) -> State:
        return _told({"s": means}, float(steps))

    return _adaptive(known, pairs, constants, letters)


_UPDATES: dict[str, Callable[[Hyperparameters, _Pairs], Updates]] = {
    "sgd": _sgd,
    "momentum": _momentum,
    "nesterov": _nesterov,
    "adam": _adam,
    "adamw": _adamw,
    "rmsprop": _rmsprop,
    "adagrad": _adagrad,
}
