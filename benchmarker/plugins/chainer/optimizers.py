"""Chainer's optimizers, made equal to the definitions of :class:`benchmarker.framework.Optimizer`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from benchmarker.errors import UnsupportedError
from benchmarker.framework import OPTIMIZERS, Optimizer


def make_update(optimizer: Optimizer, link: Any, *, mixed: bool) -> Callable[[], None]:
    """Return what moves the parameters of ``link`` along their gradients.

    Chainer's own optimizers but for Nesterov's. Its momentum buffer is ``-learning_rate * v``, equal while
    the rate is constant. Its Adam adds epsilon to the root before the bias correction (Kingma & Ba 2014,
    end of section 2), so it gets ``epsilon * sqrt(1 - beta2 ** t)`` at step t.

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
    native = _native_optimizer(optimizer)
    if mixed:
        native.use_fp32_update()
    native.setup(link)
    if optimizer.weight_decay and optimizer.kind != "adamw":
        native.add_hook(_weight_decay(optimizer.weight_decay), name="weight_decay")
    update: Callable[[], None] = native.update
    if optimizer.kind not in ("adam", "adamw"):
        return update

    def adam_update() -> None:
        native.eps = optimizer.epsilon * math.sqrt(1.0 - optimizer.beta2 ** (native.t + 1))
        update()

    return adam_update


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
        f"framework 'chainer' knows {', '.join(OPTIMIZERS)}, got optimizer '{optimizer.kind}'"
    )


def _adam(optimizer: Optimizer) -> Any:
    """Return Adam; Chainer's decoupled decay is not multiplied by the learning rate, so it comes multiplied."""
    from chainer import optimizers

    decoupled = optimizer.kind == "adamw"
    return optimizers.Adam(
        alpha=optimizer.learning_rate,
        beta1=optimizer.beta1,
        beta2=optimizer.beta2,
        eps=optimizer.epsilon,
        weight_decay_rate=optimizer.learning_rate * optimizer.weight_decay if decoupled else 0.0,
    )


@functools.cache
def _nesterov() -> Any:
    """Return Nesterov's optimizer, made once because it needs Chainer.

    Chainer's own ``NesterovAG`` takes the new buffer where its equation has the old one.
    """
    from chainer import optimizers
    from chainer.backends import cuda
    from chainer.optimizers.momentum_sgd import MomentumSGDRule

    class NesterovRule(MomentumSGDRule):  # type: ignore[misc]
        """The buffer is ``-learning_rate * v``, as in Chainer's other rules with momentum."""

        def update_core_cpu(self, param: Any) -> None:
            if param.grad is None:
                return
            v, momentum = self.state["v"], self.hyperparam.momentum
            step = self.hyperparam.lr * param.grad
            v *= momentum
            v -= step
            step -= momentum * v
            param.data -= step

        def update_core_gpu(self, param: Any) -> None:
            if param.grad is None:
                return
            kernel = cuda.elementwise(
                "T grad, T lr, T momentum",
                "T param, T v",
                "v = momentum * v - lr * grad; param += momentum * v - lr * grad;",
                "nesterov",
            )
            kernel(param.grad, self.hyperparam.lr, self.hyperparam.momentum, param.data, self.state["v"])

    class Nesterov(optimizers.MomentumSGD):  # type: ignore[misc]
        def create_update_rule(self) -> Any:
            return NesterovRule(self.hyperparam)

    return Nesterov


def _weight_decay(rate: float) -> Any:
    """Return the hook that adds ``rate * p`` to the gradient of ``p``, in an array of its own.

    Chainer's own ``WeightDecay`` adds in place, and two parameters that are added have one gradient array.
    """
    from chainer.backends import cuda

    def decay(rule: Any, param: Any) -> None:
        if param.grad is None:
            return
        if param.device.xp is cuda.cupy:
            kernel = cuda.elementwise("T p, T g, T rate", "T sum", "sum = g + rate * p", "decayed")
            param.grad = kernel(param.data, param.grad, rate)
            return
        decayed = rate * param.data
        decayed += param.grad
        param.grad = decayed

    decay.call_for_each_param = True  # type: ignore[attr-defined]
    return decay
