"""The optimizers by TensorFlow's own update kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarker.framework import Optimizer


class UpdateRule:
    """The equations of :class:`~benchmarker.framework.Optimizer` by TensorFlow's own update kernels."""

    def __init__(self, tensorflow: Any, optimizer: Optimizer, variables: Sequence[Any]) -> None:
        self._tf = tensorflow
        self._optimizer = optimizer
        self._variables = variables
        slots = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer.kind]
        self._slots = [
            [tensorflow.Variable(tensorflow.zeros_like(variable), trainable=False) for variable in variables]
            for _ in range(slots)
        ]
        self._powers = [
            tensorflow.Variable(beta, trainable=False, dtype=tensorflow.float32)
            for beta in (optimizer.beta1, optimizer.beta2)
        ]

    def __call__(self, gradients: Sequence[Any]) -> None:
        """Update every variable by its gradient; inside a ``tf.function``."""
        getattr(self, f"_{self._optimizer.kind}")(gradients)

    def _sgd(self, gradients: Sequence[Any]) -> None:
        rate = self._tf.constant(self._optimizer.learning_rate)
        for variable, gradient in zip(self._variables, gradients):
            self._tf.raw_ops.ResourceApplyGradientDescent(var=variable.handle, alpha=rate, delta=gradient)

    def _momentum(self, gradients: Sequence[Any]) -> None:
        rate = self._tf.constant(self._optimizer.learning_rate)
        momentum = self._tf.constant(self._optimizer.momentum)
        for variable, gradient, velocity in zip(self._variables, gradients, *self._slots):
            self._tf.raw_ops.ResourceApplyMomentum(
                var=variable.handle, accum=velocity.handle, lr=rate, grad=gradient, momentum=momentum
            )

    def _adam(self, gradients: Sequence[Any]) -> None:
        tf, chosen = self._tf, self._optimizer
        power1, power2 = (tf.convert_to_tensor(power) for power in self._powers)
        # The kernel adds epsilon to the uncorrected root; so scaled it is the corrected one's epsilon.
        epsilon = chosen.epsilon * tf.sqrt(1.0 - power2)
        for variable, gradient, first, second in zip(self._variables, gradients, *self._slots):
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=first.handle,
                v=second.handle,
                beta1_power=power1,
                beta2_power=power2,
                lr=tf.constant(chosen.learning_rate),
                beta1=tf.constant(chosen.beta1),
                beta2=tf.constant(chosen.beta2),
                epsilon=epsilon,
                grad=gradient,
            )
        self._powers[0].assign(power1 * chosen.beta1, read_value=False)
        self._powers[1].assign(power2 * chosen.beta2, read_value=False)
