"""Keras' optimizers, made equal to the definitions of :class:`benchmarker.api.optimizer.Optimizer`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarker.api.optimizer import Optimizer, state_names
from benchmarker.plugins.common.axis_orders import Order
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.training.optimizers.adafactor import MIN_SCALE, MIN_SQUARE

_WRITTEN = ("sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad")
_TRANSPOSED = (1, 0)


def is_native(optimizer: Optimizer, orders: Iterable[Order | None] = ()) -> bool:
    """Tell whether Keras has an optimizer that computes the same, or one is written here in its terms.

    Parameters
    ----------
    optimizer : Optimizer
        The equations.
    orders : iterable
        Of the axes of each variable that it updates, None where a permutation of axes does not say how it stands.
    """
    if optimizer.modifiers:
        return False
    if optimizer.kind == "lion":
        return optimizer.beta1 > 0.0  # which Keras refuses
    if optimizer.kind == "adafactor":
        # Keras decays before it takes the root mean square of the weights, and factors the last two axes it has itself.
        return not optimizer.weight_decay and all(order is not None and len(order) < 3 for order in orders)
    return optimizer.kind in _WRITTEN


def make_optimizer(optimizer: Optimizer) -> Any:
    """Return a Keras optimizer that computes these equations.

    Keras' own are gradient descent, Lion and Adafactor. Its momentum is a constant of what is compiled, and its
    buffer is ``-learning_rate * v``, another function where the rate changes; its Adam adds epsilon before the bias
    correction, its RMSprop and Adagrad inside the root, and its weight decay is decoupled always. Those are
    written as a subclass, in as many passes over memory.
    """
    import keras

    if optimizer.kind == "sgd" and optimizer.weight_decay == 0.0:
        return keras.optimizers.SGD(optimizer.learning_rate)
    if optimizer.kind == "lion":
        betas = {"beta_1": optimizer.beta1, "beta_2": optimizer.beta2}
        return _summing(keras.optimizers.Lion)(optimizer.learning_rate, **betas)
    if optimizer.kind == "adafactor":
        return _summing(keras.optimizers.Adafactor)(
            optimizer.learning_rate,
            epsilon_1=MIN_SQUARE,
            epsilon_2=MIN_SCALE,
            clip_threshold=vars(optimizer.rule)["clip"],
            relative_step=False,
        )
    together = keras.backend.backend() == "torch" and optimizer.kind in ("momentum", "nesterov")
    return (_exact_on_torch() if together else _exact())(optimizer)


def build_optimizer(optimizer: Optimizer, native: Any, variables: Sequence[Any]) -> None:
    """Have an optimizer make its state, and Keras' Lion a decay of weights that can change."""
    import keras

    native.build(variables)
    if isinstance(native, keras.optimizers.Lion) and optimizer.weight_decay:
        start = keras.initializers.Constant(optimizer.weight_decay)
        native.weight_decay = native.add_variable((), start, name="weight_decay")


def native_state(
    optimizer: Optimizer, native: Any, orders: Sequence[Order | None]
) -> dict[str, Sequence[Any]]:
    """Return the state variables of all trainable variables, in their order, by the letter of the equations.

    None stands for what a variable lacks.

    Parameters
    ----------
    optimizer : Optimizer
        The equations.
    native : keras.optimizers.Optimizer
        As :func:`make_optimizer` made it, built.
    orders : sequence
        Of the axes of each variable.
    """
    if optimizer.kind == "lion":
        return {"m": native._momentums}
    if optimizer.kind == "adafactor":
        return _factored(native, orders)
    return dict(zip(state_names(optimizer.kind), getattr(native, "slots", ())))


def _factored(native: Any, orders: Sequence[Order | None]) -> dict[str, Sequence[Any]]:
    """Return Adafactor's state; the means of rows of a transposed matrix are those of columns."""
    rows, columns = zip(
        *((c, r) if order == _TRANSPOSED else (r, c) for r, c, order in zip(native._r, native._c, orders))
    )
    matrix = [order is not None and len(order) == 2 for order in orders]
    return {
        "r": [kept if has else None for kept, has in zip(rows, matrix)],
        "c": [kept if has else None for kept, has in zip(columns, matrix)],
        "v": [None if has else kept for kept, has in zip(native._v, matrix)],
    }


def changing_variable(native: Any, name: str) -> Any:
    """Return the variable of a constant that may change between updates, which was not 0 when it was built."""
    if name == "learning_rate":
        return native._learning_rate
    return native.changing[name] if hasattr(native, "changing") else getattr(native, name)


class _Rules:
    """How a parameter follows its gradient, by kind, in Keras' own operations."""

    ops: Any
    chosen: Optimizer
    values: dict[str, Any]
    iterations: Any
    assign: Callable[..., None]
    assign_add: Callable[..., None]

    def _sgd(self, gradient: Any) -> Any:
        return gradient

    def _momentum(self, gradient: Any, velocity: Any) -> Any:
        self.assign(velocity, self.ops.add(self.ops.multiply(velocity, self._mu(gradient)), gradient))
        return velocity

    def _nesterov(self, gradient: Any, velocity: Any) -> Any:
        self._momentum(gradient, velocity)
        return self.ops.add(gradient, self.ops.multiply(velocity, self._mu(gradient)))

    def _mu(self, like: Any) -> Any:
        return self.ops.cast(self.values["momentum"], like.dtype) if "momentum" in self.values else 0.0

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


def dense(gradient: Any) -> Any:
    """Return the gradient of a whole table: TensorFlow's holds a row as often as it was used, not the sum."""
    if not hasattr(gradient, "indices") or not hasattr(gradient, "dense_shape"):
        return gradient
    import tensorflow as tf

    return tf.convert_to_tensor(gradient)


@functools.cache
def _summing(base: Any) -> Any:
    """Return a class of Keras' optimizers whose gradients of tables are whole ones, which only TensorFlow's are not."""
    import keras

    if keras.backend.backend() != "tensorflow":
        return base

    class Summing(base):  # type: ignore[misc]
        def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
            super().update_step(dense(gradient), variable, learning_rate)

    return Summing


@functools.cache
def _exact() -> Any:
    """Return the subclass, made once because it needs Keras."""
    import keras
    from keras import ops

    class Exact(_Rules, keras.optimizers.Optimizer):  # type: ignore[misc]
        """The equations as they are defined."""

        ops = keras.ops

        def __init__(self, chosen: Optimizer) -> None:
            super().__init__(chosen.learning_rate)
            self.chosen = chosen
            self.changing: dict[str, Any] = {}
            self.values = {}

        def build(self, variables: Any) -> None:
            if self.built:
                return
            super().build(variables)
            self.slots = [
                self.add_optimizer_variables(variables, letter) for letter in state_names(self.chosen.kind)
            ]
            for name in Hyperparameters(self.chosen).names:
                if name != "learning_rate":
                    start = keras.initializers.Constant(getattr(self.chosen, name))
                    self.changing[name] = self.add_variable((), start, name=name)
            if self.chosen.kind == "adamw":
                # Keras applies it itself, decoupled, as the equations have it.
                self.weight_decay = self.changing.get("weight_decay")

        @property
        def is_decay_coupled(self) -> bool:
            """Whether a multiple of the parameter is added to its gradient."""
            return "weight_decay" in self.changing and self.chosen.kind != "adamw"

        def _backend_update_step(self, gradients: Any, variables: Any, learning_rate: Any) -> None:
            # Read once a step: TensorFlow reads a variable anew at each place that names it.
            self.values = {name: ops.convert_to_tensor(value) for name, value in self.changing.items()}
            super()._backend_update_step(gradients, variables, ops.convert_to_tensor(learning_rate))

        def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
            gradient = ops.cast(dense(gradient), variable.dtype)
            if self.is_decay_coupled:
                decay = ops.cast(self.values["weight_decay"], variable.dtype)
                gradient = ops.add(gradient, ops.multiply(variable, decay))
            place = self._get_variable_index(variable)
            rule = getattr(self, f"_{self.chosen.kind}")
            step = rule(gradient, *(slot[place] for slot in self.slots))
            self.assign_sub(variable, ops.multiply(step, ops.cast(learning_rate, variable.dtype)))

    return Exact


@functools.cache
def _exact_on_torch() -> Any:
    """Return momentum for PyTorch, where Keras' own optimizers update all variables in one call."""
    import torch

    class ExactOnTorch(_exact()):  # type: ignore[misc]
        """Momentum and Nesterov's, as they are defined."""

        def _backend_update_step(self, gradients: Any, variables: Any, learning_rate: Any) -> None:
            values = [variable.value for variable in variables]
            (slots,) = self.slots
            velocity = [slots[self._get_variable_index(variable)].value for variable in variables]
            rate = float(self._learning_rate.value)
            mu = float(self.changing["momentum"].value) if "momentum" in self.changing else 0.0
            if self.is_decay_coupled:
                decay = float(self.changing["weight_decay"].value)
                gradients = torch._foreach_add(gradients, values, alpha=decay)
            torch._foreach_mul_(velocity, mu)
            torch._foreach_add_(velocity, gradients)
            if self.chosen.kind == "nesterov":
                torch._foreach_add_(values, gradients, alpha=-rate)
                torch._foreach_add_(values, velocity, alpha=-rate * mu)
            else:
                torch._foreach_add_(values, velocity, alpha=-rate)

    return ExactOnTorch
