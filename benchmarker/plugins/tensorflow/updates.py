"""The optimizers by TensorFlow's own update kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarker.framework import Optimizer

SLOTS = {"sgd": 0, "momentum": 1, "nesterov": 1, "adam": 2, "adamw": 2, "rmsprop": 1, "adagrad": 1}
"""State variables a parameter has."""


class UpdateRule:
    """The equations of :class:`~benchmarker.framework.Optimizer` by TensorFlow's own update kernels.

    The gradient of a table of which some rows were gathered holds these rows alone. Plain gradient
    descent changes no other row, so it scatters, as Keras does; every other rule moves all rows or needs
    the rows summed, so it takes the gradient of the whole table, which the equations mean.
    """

    def __init__(self, tensorflow: Any, optimizer: Optimizer, variables: Sequence[Any]) -> None:
        self._tf = tensorflow
        self._optimizer = optimizer
        self._variables = variables
        self._dtype = variables[0].dtype if variables else tensorflow.float32
        self._rate = self._constant(optimizer.learning_rate)
        self._slots = [
            [tensorflow.Variable(tensorflow.zeros_like(variable), trainable=False) for variable in variables]
            for _ in range(SLOTS[optimizer.kind])
        ]
        self._powers = [
            tensorflow.Variable(beta, trainable=False, dtype=self._dtype)
            for beta in (optimizer.beta1, optimizer.beta2)
        ]

    def __call__(self, gradients: Sequence[Any]) -> None:
        """Update every variable by its gradient; inside a ``tf.function``."""
        chosen = self._optimizer
        if not (chosen.kind == "sgd" and chosen.weight_decay == 0.0):
            gradients = [self._decayed(v, g) for v, g in zip(self._variables, gradients)]
        getattr(self, f"_{chosen.kind}")(gradients)

    def _constant(self, value: float) -> Any:
        return self._tf.constant(value, self._dtype)

    def _decayed(self, variable: Any, gradient: Any) -> Any:
        gradient = self._tf.convert_to_tensor(gradient)
        decay = self._optimizer.weight_decay
        if decay == 0.0 or self._optimizer.kind == "adamw":
            return gradient
        return gradient + decay * variable

    def _sgd(self, gradients: Sequence[Any]) -> None:
        for variable, gradient in zip(self._variables, gradients):
            if isinstance(gradient, self._tf.IndexedSlices):
                variable.scatter_sub(self._tf.IndexedSlices(self._rate * gradient.values, gradient.indices))
            else:
                self._tf.raw_ops.ResourceApplyGradientDescent(
                    var=variable.handle, alpha=self._rate, delta=gradient
                )

    def _momentum(self, gradients: Sequence[Any], nesterov: bool = False) -> None:
        momentum = self._constant(self._optimizer.momentum)
        for variable, gradient, velocity in zip(self._variables, gradients, *self._slots):
            self._tf.raw_ops.ResourceApplyMomentum(
                var=variable.handle,
                accum=velocity.handle,
                lr=self._rate,
                grad=gradient,
                momentum=momentum,
                use_nesterov=nesterov,
            )

    def _nesterov(self, gradients: Sequence[Any]) -> None:
        self._momentum(gradients, nesterov=True)

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
                lr=self._rate,
                beta1=self._constant(chosen.beta1),
                beta2=self._constant(chosen.beta2),
                epsilon=epsilon,
                grad=gradient,
            )
        self._powers[0].assign(power1 * chosen.beta1, read_value=False)
        self._powers[1].assign(power2 * chosen.beta2, read_value=False)

    def _adamw(self, gradients: Sequence[Any]) -> None:
        share = self._optimizer.learning_rate * self._optimizer.weight_decay
        for variable in self._variables:
            variable.assign_sub(share * variable, read_value=False)
        self._adam(gradients)

    def _rmsprop(self, gradients: Sequence[Any]) -> None:
        # The kernel has epsilon inside the root, which is another function.
        tf, chosen = self._tf, self._optimizer
        for variable, gradient, squares in zip(self._variables, gradients, *self._slots):
            mean = chosen.decay * squares + (1.0 - chosen.decay) * tf.square(gradient)
            squares.assign(mean, read_value=False)
            step = self._rate * gradient / (tf.sqrt(mean) + chosen.epsilon)
            variable.assign_sub(step, read_value=False)

    def _adagrad(self, gradients: Sequence[Any]) -> None:
        epsilon = self._constant(self._optimizer.epsilon)
        for variable, gradient, squares in zip(self._variables, gradients, *self._slots):
            self._tf.raw_ops.ResourceApplyAdagradV2(
                var=variable.handle,
                accum=squares.handle,
                lr=self._rate,
                epsilon=epsilon,
                grad=gradient,
            )
