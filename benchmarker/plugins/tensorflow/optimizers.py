"""The optimizers by TensorFlow's own update kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker.api.optimizer import Optimizer, state_names
from benchmarker.plugins.common.hyperparameters import Hyperparameters

_NATIVE = ("sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad")


def is_native(optimizer: Optimizer) -> bool:
    """Tell whether :class:`UpdateRule` has the equations."""
    return optimizer.kind in _NATIVE and not optimizer.modifiers


class UpdateRule:
    """The equations of :class:`~benchmarker.api.optimizer.Optimizer` by TensorFlow's own update kernels.

    The gradient of a table of which some rows were gathered holds these rows alone. Plain gradient
    descent changes no other row, so it scatters, as Keras does; every other rule moves all rows or needs
    the rows summed, so it takes the gradient of the whole table, which the equations mean.
    """

    rule = None
    """No rule is composed."""

    def __init__(self, tensorflow: Any, optimizer: Optimizer, variables: Sequence[Any]) -> None:
        self._tf = tensorflow
        self._optimizer = optimizer
        self._variables = variables
        self._dtype = variables[0].dtype if variables else tensorflow.float32
        self._hyperparameters = Hyperparameters(optimizer)
        self._constants = self._natives(optimizer)
        self._slots = [
            [tensorflow.Variable(tensorflow.zeros_like(variable), trainable=False) for variable in variables]
            for _ in state_names(optimizer.kind)
        ]
        self._powers = [
            tensorflow.Variable(beta, trainable=False, dtype=self._dtype)
            for beta in (optimizer.beta1, optimizer.beta2)
        ]

    def __call__(self, gradients: Sequence[Any], *given: Any) -> None:
        """Update every variable by its gradient, with what :meth:`next` gave; inside a ``tf.function``."""
        chosen = self._optimizer
        constants = dict(zip(self._hyperparameters.names, given))
        if chosen.weight_decay and chosen.kind != "adamw":
            decay = constants["weight_decay"]
            gradients = [
                self._tf.convert_to_tensor(gradient) + decay * variable
                for variable, gradient in zip(self._variables, gradients)
            ]
        elif chosen.kind != "sgd":
            gradients = [self._tf.convert_to_tensor(gradient) for gradient in gradients]
        getattr(self, f"_{chosen.kind}")(gradients, constants)

    @property
    def given(self) -> list[Any]:
        """What :meth:`next` returns, as ``tf.TensorSpec``."""
        return [self._tf.TensorSpec((), self._dtype) for _ in self._hyperparameters.names]

    def next(self) -> tuple[Any, ...]:
        """Return the constants that the next update takes; all else that changes is counted by the kernels."""
        return self._constants

    def prepared(self, values: Mapping[str, float]) -> tuple[Optimizer, tuple[Any, ...]]:
        """Return other constants, as :meth:`use` takes them."""
        optimizer = self._hyperparameters.prepared(values)
        return optimizer, self._natives(optimizer)

    def use(self, prepared: tuple[Optimizer, tuple[Any, ...]]) -> None:
        """Use other constants from the next update on; nothing is traced again."""
        self._hyperparameters.optimizer, self._constants = prepared

    def _natives(self, optimizer: Optimizer) -> tuple[Any, ...]:
        return tuple(self._constant(getattr(optimizer, name)) for name in self._hyperparameters.names)

    def powers(self) -> list[float]:
        """Return the powers of beta1 and beta2 that the next update takes, as rounded as they are."""
        return [float(power.numpy()) for power in self._powers]

    def resume_from(self, steps: int, numbers: Mapping[str, float], powers: Sequence[float]) -> None:
        """Have the next update be that after ``steps``, with these powers if they are known."""
        betas = (self._optimizer.beta1, self._optimizer.beta2)
        for variable, value in zip(
            self._powers,
            powers or [beta ** (steps + 1) for beta in betas],
        ):
            variable.assign(value)

    def state(self) -> dict[str, list[Any]]:
        """Return the state variables of all variables, in their order, by the letter of the equations."""
        return dict(zip(state_names(self._optimizer.kind), self._slots))

    def _constant(self, value: float) -> Any:
        return self._tf.constant(value, self._dtype)

    def _sgd(self, gradients: Sequence[Any], constants: Mapping[str, Any]) -> None:
        rate = constants["learning_rate"]
        for variable, gradient in zip(self._variables, gradients):
            if isinstance(gradient, self._tf.IndexedSlices):
                variable.scatter_sub(self._tf.IndexedSlices(rate * gradient.values, gradient.indices))
            else:
                self._tf.raw_ops.ResourceApplyGradientDescent(var=variable.handle, alpha=rate, delta=gradient)

    def _momentum(
        self, gradients: Sequence[Any], constants: Mapping[str, Any], nesterov: bool = False
    ) -> None:
        # Left out of what may change where it was 0.
        momentum = constants.get("momentum", self._constant(0.0))
        for variable, gradient, velocity in zip(self._variables, gradients, *self._slots):
            self._tf.raw_ops.ResourceApplyMomentum(
                var=variable.handle,
                accum=velocity.handle,
                lr=constants["learning_rate"],
                grad=gradient,
                momentum=momentum,
                use_nesterov=nesterov,
            )

    def _nesterov(self, gradients: Sequence[Any], constants: Mapping[str, Any]) -> None:
        self._momentum(gradients, constants, nesterov=True)

    def _adam(self, gradients: Sequence[Any], constants: Mapping[str, Any]) -> None:
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
                lr=constants["learning_rate"],
                beta1=self._constant(chosen.beta1),
                beta2=self._constant(chosen.beta2),
                epsilon=epsilon,
                grad=gradient,
            )
        self._powers[0].assign(power1 * chosen.beta1, read_value=False)
        self._powers[1].assign(power2 * chosen.beta2, read_value=False)

    def _adamw(self, gradients: Sequence[Any], constants: Mapping[str, Any]) -> None:
        if self._optimizer.weight_decay:
            share = constants["learning_rate"] * constants["weight_decay"]
            for variable in self._variables:
                variable.assign_sub(share * variable, read_value=False)
        self._adam(gradients, constants)

    def _rmsprop(self, gradients: Sequence[Any], constants: Mapping[str, Any]) -> None:
        # The kernel has epsilon inside the root, which is another function.
        tf, chosen = self._tf, self._optimizer
        for variable, gradient, squares in zip(self._variables, gradients, *self._slots):
            mean = chosen.decay * squares + (1.0 - chosen.decay) * tf.square(gradient)
            squares.assign(mean, read_value=False)
            step = constants["learning_rate"] * gradient / (tf.sqrt(mean) + chosen.epsilon)
            variable.assign_sub(step, read_value=False)

    def _adagrad(self, gradients: Sequence[Any], constants: Mapping[str, Any]) -> None:
        epsilon = self._constant(self._optimizer.epsilon)
        for variable, gradient, squares in zip(self._variables, gradients, *self._slots):
            self._tf.raw_ops.ResourceApplyAdagradV2(
                var=variable.handle,
                accum=squares.handle,
                lr=constants["learning_rate"],
                epsilon=epsilon,
                grad=gradient,
            )
