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
_Pairs = list[tuple[Any, Any]]


def make_update(optimizer: Optimizer, weights: Sequence[Any], gradients: Sequence[Any]) -> Update:
    """Return the update of ``weights`` by ``gradients``, both lists of MXNet arrays."""
    # Backward reaches the last layer's gradients first.
    pairs = list(zip(weights, gradients))[::-1]
    return _UPDATES[optimizer.kind](optimizer, pairs)


def _sgd(optimizer: Optimizer, pairs: _Pairs) -> Update:
    from mxnet import nd

    step = nd.sgd_update
    rate, decay = optimizer.learning_rate, optimizer.weight_decay

    def update() -> None:
        for weight, gradient in pairs:
            step(weight, gradient, out=weight, lr=rate, wd=decay)

    return update


def _momentum(optimizer: Optimizer, pairs: _Pairs) -> Update:
    """The buffer holds ``-lr * v``, which is the same while the learning rate is constant."""
    from mxnet import nd

    step = nd.sgd_mom_update
    rate, mu, decay = optimizer.learning_rate, optimizer.momentum, optimizer.weight_decay
    states = [(weight, gradient, nd.zeros_like(weight)) for weight, gradient in pairs]

    def update() -> None:
        for weight, gradient, buffer in states:
            step(weight, gradient, buffer, out=weight, lr=rate, momentum=mu, wd=decay)

    return update


def _nesterov(optimizer: Optimizer, pairs: _Pairs) -> Update:
    """Native Nesterov leaves the weight decay out of its look ahead: it is added to the gradient before."""
    from mxnet import nd

    step, add = nd.nag_mom_update, nd.sgd_update
    rate, mu, decay = optimizer.learning_rate, optimizer.momentum, optimizer.weight_decay
    states = [(weight, gradient, nd.zeros_like(weight)) for weight, gradient in pairs]

    def update() -> None:
        for weight, gradient, buffer in states:
            if decay:
                # One pass over memory: gradient - (-decay) * weight.
                add(gradient, weight, out=gradient, lr=-decay, wd=0.0)
            step(weight, gradient, buffer, out=weight, lr=rate, momentum=mu, wd=0.0)

    return update


_Constants = Callable[[int], tuple[float, float, float, float]]
"""Learning rate, beta1, beta2 and epsilon of native Adam at a step."""


def _adaptive(optimizer: Optimizer, pairs: _Pairs, constants: _Constants) -> Update:
    """Return updates by native Adam: ``p -= rate * m / (sqrt(s) + epsilon)``, ``m`` and ``s`` not corrected."""
    from mxnet import nd

    step = nd.adam_update
    decay = optimizer.weight_decay
    states = [(w, g, nd.zeros_like(w), nd.zeros_like(w)) for w, g in pairs]
    steps = 0

    def update() -> None:
        nonlocal steps
        steps += 1
        rate, beta1, beta2, epsilon = constants(steps)
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

    return update


def _corrected(optimizer: Optimizer) -> _Constants:
    """Adam's constants: native Adam adds epsilon to the uncorrected root, so both are corrected each step."""
    beta1, beta2 = optimizer.beta1, optimizer.beta2

    def constants(step: int) -> tuple[float, float, float, float]:
        root = math.sqrt(1.0 - beta2**step)
        rate = optimizer.learning_rate * root / (1.0 - beta1**step)
        return rate, beta1, beta2, optimizer.epsilon * root

    return constants


def _adam(optimizer: Optimizer, pairs: _Pairs) -> Update:
    return _adaptive(optimizer, pairs, _corrected(optimizer))


def _adamw(optimizer: Optimizer, pairs: _Pairs) -> Update:
    from mxnet import nd

    step = nd.contrib.adamw_update
    constants = _corrected(optimizer)
    decay = optimizer.learning_rate * optimizer.weight_decay
    states = [(w, g, nd.zeros_like(w), nd.zeros_like(w)) for w, g in pairs]
    scale = nd.ones((1,), ctx=pairs[0][0].context) if pairs else None
    steps = 0

    def update() -> None:
        nonlocal steps
        steps += 1
        rate, beta1, beta2, epsilon = constants(steps)
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

    return update


def _rmsprop(optimizer: Optimizer, pairs: _Pairs) -> Update:
    """Native RMSProp adds epsilon under the root; Adam without a mean is the same with it outside."""
    constants = (optimizer.learning_rate, 0.0, optimizer.decay, optimizer.epsilon)
    return _adaptive(optimizer, pairs, lambda step: constants)


def _adagrad(optimizer: Optimizer, pairs: _Pairs) -> Update:
    """Native AdaGrad adds epsilon under the root; Adam without a mean can have it outside.

    With ``beta2 = (t - 1) / t`` its ``s`` is AdaGrad's sum over ``t``.
    """

    def constants(step: int) -> tuple[float, float, float, float]:
        root = math.sqrt(step)
        return optimizer.learning_rate / root, 0.0, (step - 1) / step, optimizer.epsilon / root

    return _adaptive(optimizer, pairs, constants)


_UPDATES: dict[str, Callable[[Optimizer, _Pairs], Update]] = {
    "sgd": _sgd,
    "momentum": _momentum,
    "nesterov": _nesterov,
    "adam": _adam,
    "adamw": _adamw,
    "rmsprop": _rmsprop,
    "adagrad": _adagrad,
}
