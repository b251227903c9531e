"""Keras' optimizers, made equal to the definitions of :class:`benchmarker.framework.Optimizer`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from benchmarker.framework import Optimizer

SLOTS = {"sgd": 0, "momentum": 1, "nesterov": 1, "adam": 2, "adamw": 2, "rmsprop": 1, "adagrad": 1}
"""State variables a parameter has."""


def make_optimizer(optimizer: Optimizer) -> Any:
    """Return a Keras optimizer that computes these equations.

    Keras' own is gradient descent with and without momentum, whose buffer is ``-learning_rate * v``: the same
    while the rate is constant. Its Adam adds epsilon before the bias correction, its RMSprop and Adagrad
    inside the root, and its weight decay is decoupled always; those are written as a subclass.
    """
    import keras

    if optimizer.kind in ("sgd", "momentum", "nesterov") and optimizer.weight_decay == 0.0:
        return keras.optimizers.SGD(
            optimizer.learning_rate,
            momentum=0.0 if optimizer.kind == "sgd" else float(optimizer.momentum),
            nesterov=optimizer.kind == "nesterov",
        )
    return _exact()(optimizer)


class _Rules:
    """How a parameter follows its gradient, by kind, in Keras' own operations."""

    ops: Any
    chosen: Optimizer
    iterations: Any
    assign: Callable[..., None]
    assign_add: Callable[..., None]

    def _sgd(self, gradient: Any) -> Any:
        return gradient

    def _momentum(self, gradient: Any, velocity: Any) -> Any:
        self.assign(velocity, self.ops.add(self.ops.multiply(velocity, self.chosen.momentum), gradient))
        return velocity

    def _nesterov(self, gradient: Any, velocity: Any) -> Any:
        self._momentum(gradient, velocity)
        return self.ops.add(gradient, self.ops.multiply(velocity, self.chosen.momentum))

    def _adam(self, gradient: Any, first: Any, second: Any) -> Any:
        beta1, beta2 = self.chosen.beta1, self.chosen.beta2
        step = self.ops.cast(self.iterations + 1, gradient.dtype)
        self._average(first, gradient, beta1)
        self._average(second, self.ops.square(gradient), beta2)
        mean = self.ops.divide(first, 1.0 - self.ops.power(beta1, step))
        square = self.ops.divide(second, 1.0 - self.ops.power(beta2, step))
        return self.ops.divide(mean, self.ops.add(self.ops.sqrt(square), self.chosen.epsilon))

    _adamw = _adam

    def _rmsprop(self, gradient: Any, squares: Any) -> Any:
        self._average(squares, self.ops.square(gradient), self.chosen.decay)
        return self.ops.divide(gradient, self.ops.add(self.ops.sqrt(squares), self.chosen.epsilon))

    def _adagrad(self, gradient: Any, squares: Any) -> Any:
        self.assign_add(squares, self.ops.square(gradient))
        return self.ops.divide(gradient, self.ops.add(self.ops.sqrt(squares), self.chosen.epsilon))

    def _average(self, slot: Any, value: Any, share: float) -> None:
        self.assign(slot, self.ops.add(self.ops.multiply(slot, share), self.ops.multiply(value, 1.0 - share)))


def _dense(gradient: Any) -> Any:
    """Return the gradient of a whole table: TensorFlow's holds a row as often as it was used, not the sum."""
    if not hasattr(gradient, "indices") or not hasattr(gradient, "dense_shape"):
        return gradient
    import tensorflow as tf

    return tf.convert_to_tensor(gradient)


@functools.cache
def _exact() -> Any:
    """Return the subclass, made once because it needs Keras."""
    import keras
    from keras import ops

    class Exact(_Rules, keras.optimizers.Optimizer):  # type: ignore[misc]
        """The equations as they are defined."""

        ops = keras.ops

        def __init__(self, chosen: Optimizer) -> None:
            decoupled = chosen.kind == "adamw" and chosen.weight_decay > 0.0
            super().__init__(chosen.learning_rate, weight_decay=chosen.weight_decay if decoupled else None)
            self.chosen = chosen
            self.coupled_decay = 0.0 if chosen.kind == "adamw" else chosen.weight_decay

        def build(self, variables: Any) -> None:
            if self.built:
                return
            super().build(variables)
            count = SLOTS[self.chosen.kind]
            self.slots = [self.add_optimizer_variables(variables, f"slot{i}") for i in range(count)]

        def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
            gradient = ops.cast(_dense(gradient), variable.dtype)
            if self.coupled_decay:
                gradient = ops.add(gradient, ops.multiply(variable, self.coupled_decay))
            place = self._get_variable_index(variable)
            rule = getattr(self, f"_{self.chosen.kind}")
            step = rule(gradient, *(slot[place] for slot in self.slots))
            self.assign_sub(variable, ops.multiply(step, ops.cast(learning_rate, variable.dtype)))

    return Exact
