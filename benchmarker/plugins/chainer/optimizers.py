"""Chainer's optimizers, made equal to the definitions of :class:`benchmarker.api.optimizer.Optimizer`."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

from benchmarker.api.optimizer import Optimizer
from benchmarker.errors import UnsupportedError
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.common.velocity import FoldedVelocity


class Updates:
    """What moves the parameters of ``link`` along their gradients.

    Chainer's own optimizers but for Nesterov's. Its momentum buffer is ``-learning_rate * v``
    (:class:`~benchmarker.plugins.common.velocity.FoldedVelocity`). Its Adam adds epsilon to the root before the
    bias correction (Kingma & Ba 2014, end of section 2), so it gets ``epsilon * sqrt(1 - beta2 ** t)`` at step t.

    Parameters
    ----------
    optimizer : Optimizer
        The equations.
    link : chainer.Link
        Holder of the parameters.
    mixed : bool
        Whether half-precision parameters are updated through single-precision copies.

    Raises
    ------
    UnsupportedError
        If the kind is unknown.
    """

    def __init__(self, optimizer: Optimizer, link: Any, *, mixed: bool) -> None:
        self._known = Hyperparameters(optimizer)
        self._native = _native_optimizer(optimizer)
        self._folded = FoldedVelocity() if optimizer.kind == "momentum" else None
        if mixed:
            self._native.use_fp32_update()
        self._native.setup(link)
        if optimizer.weight_decay and optimizer.kind != "adamw":
            self._native.add_hook(_weight_decay(self._known), name="weight_decay")

    def __call__(self) -> None:
        """Update every parameter."""
        chosen, native = self._known.optimizer, self._native
        if self._folded is not None:
            native.hyperparam.lr, native.hyperparam.momentum = self._folded.constants(chosen)
        elif chosen.kind in ("adam", "adamw"):
            native.eps = chosen.epsilon * math.sqrt(1.0 - chosen.beta2 ** (native.t + 1))
        native.update()

    def set_constants(self, values: Mapping[str, float]) -> None:
        """Use other constants from the next update on."""
        chosen, hyperparameters = self._known.take(values), self._native.hyperparam
        if chosen.kind in ("adam", "adamw"):
            hyperparameters.alpha = chosen.learning_rate
            hyperparameters.weight_decay_rate = _decoupled_rate(chosen)
            return
        hyperparameters.lr = chosen.learning_rate
        if chosen.kind == "nesterov":
            hyperparameters.momentum = chosen.momentum

    def state(self, letter: str, parameter: Any) -> Any:
        """Return one letter of a parameter's state as Chainer keeps it; zeros before the first update."""
        state = parameter.update_rule.state
        if state is None:
            return parameter.device.xp.zeros_like(parameter.array)
        return state[_LETTERS[self._known.optimizer.kind][letter]]

    @property
    def letters(self) -> tuple[str, ...]:
        """The letters of the equations that there is state of."""
        return tuple(_LETTERS[self._known.optimizer.kind])

    @property
    def rate(self) -> float | None:
        """The learning rate that a momentum buffer is of; None of a state that is as the equations have it."""
        return None if self._folded is None else self._folded.rate

    def resume_from(self, steps: int, rate: float | None) -> None:
        """Have the next update be that after ``steps``, and a momentum buffer of a rate."""
        self._native.t = steps
        for parameter in self._native.target.params():
            parameter.update_rule.t = steps
        if self._folded is not None:
            self._folded.resume_from(self._known.optimizer, rate)

    def put(self, letter: str, parameter: Any, array: Any) -> None:
        """Take one letter of a parameter's state, as the equations have it."""
        rule = parameter.update_rule
        if rule.state is None:
            rule._state = {}
        buffer = array if self._folded is None else array / self._folded.factor()
        rule.state[_LETTERS[self._known.optimizer.kind][letter]] = buffer.astype(array.dtype)

    def unfolded(self, buffer: Any) -> Any:
        """Return an array of the state as the equations have it."""
        return buffer if self._folded is None else self._folded.velocity(buffer)


def is_native(optimizer: Optimizer) -> bool:
    """Tell whether Chainer has an optimizer that computes the same, or has been given one."""
    return optimizer.kind in _LETTERS and not optimizer.modifiers


_LETTERS: Mapping[str, Mapping[str, str]] = {
    "sgd": {},
    "momentum": {"v": "v"},
    "nesterov": {"v": "v"},
    "adam": {"m": "m", "v": "v"},
    "adamw": {"m": "m", "v": "v"},
    "rmsprop": {"s": "ms"},
    "adagrad": {"s": "h"},
}
"""Chainer's name of each letter of the equations."""


def _native_optimizer(optimizer: Optimizer) -> Any:
    from chainer import optimizers

    rate = optimizer.learning_rate
    if optimizer.kind == "sgd":
        return optimizers.SGD(lr=rate)
    if optimizer.kind == "momentum":
        return optimizers.MomentumSGD(lr=rate, momentum=optimizer.momentum)
    if optimizer.kind == "nesterov":
        return _nesterov()(lr=rate, momentum=optimizer.momentum)
    if optimizer.kind in ("adam", "adamw"):
        return _adam(optimizer)
    if optimizer.kind == "rmsprop":
        return optimizers.RMSprop(lr=rate, alpha=optimizer.decay, eps=optimizer.epsilon)
    if optimizer.kind == "adagrad":
        return optimizers.AdaGrad(lr=rate, eps=optimizer.epsilon)
    raise UnsupportedError(
        f"framework 'chainer' knows {', '.join(_LETTERS)}, got optimizer '{optimizer.kind}'"
    )


def _adam(optimizer: Optimizer) -> Any:
    """Return Adam; Chainer's decoupled decay is not multiplied by the learning rate, so it comes multiplied."""
    from chainer import optimizers

    return optimizers.Adam(
        alpha=optimizer.learning_rate,
        beta1=optimizer.beta1,
        beta2=optimizer.beta2,
        eps=optimizer.epsilon,
        weight_decay_rate=_decoupled_rate(optimizer),
    )


def _decoupled_rate(optimizer: Optimizer) -> float:
    return optimizer.learning_rate * optimizer.weight_decay if optimizer.kind == "adamw" else 0.0


@functools.cache
def _nesterov() -> Any:
    """Return Nesterov's optimizer, made once because it needs Chainer.

    Chainer's own ``NesterovAG`` takes the new buffer where its equation has the old one.
    """
    from chainer import optimizers
    from chainer.backends import cuda
    from chainer.optimizers.momentum_sgd import MomentumSGDRule

    class NesterovRule(MomentumSGDRule):  # type: ignore[misc]
        """The buffer is ``v`` itself, as the look ahead takes no other momentum in an update that changes the rate."""

        def update_core_cpu(self, param: Any) -> None:
            if param.grad is None:
                return
            v, momentum = self.state["v"], self.hyperparam.momentum
            v *= momentum
            v += param.grad
            step = momentum * v
            step += param.grad
            step *= self.hyperparam.lr
            param.data -= step

        def update_core_gpu(self, param: Any) -> None:
            if param.grad is None:
                return
            kernel = cuda.elementwise(
                "T grad, T lr, T momentum",
                "T param, T v",
                "v = momentum * v + grad; param -= lr * (grad + momentum * v);",
                "nesterov",
            )
            kernel(param.grad, self.hyperparam.lr, self.hyperparam.momentum, param.data, self.state["v"])

    class Nesterov(optimizers.MomentumSGD):  # type: ignore[misc]
        def create_update_rule(self) -> Any:
            return NesterovRule(self.hyperparam)

    return Nesterov


def _weight_decay(known: Hyperparameters) -> Any:
    """Return the hook that adds ``weight_decay * p`` to the gradient of ``p``, in an array of its own.

    Chainer's own ``WeightDecay`` adds in place, and two parameters that are added have one gradient array.
    """
    from chainer.backends import cuda

    def decay(rule: Any, param: Any) -> None:
        if param.grad is None:
            return
        rate = known.optimizer.weight_decay
        if param.device.xp is cuda.cupy:
            kernel = cuda.elementwise("T p, T g, T rate", "T sum", "sum = g + rate * p", "decayed")
            param.grad = kernel(param.data, param.grad, rate)
            return
        decayed = rate * param.data
        decayed += param.grad
        param.grad = decayed

    decay.call_for_each_param = True  # type: ignore[attr-defined]
    return decay
