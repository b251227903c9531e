"""A step of a Keras model, one class a backend: what Keras' own loops call for each mini-batch.

``predict_on_batch`` and ``train_on_batch`` turn what they return into NumPy arrays and numbers, so that no
device could go on in the meantime. Timed is what they and ``fit`` call inside: the function that
``make_predict_function`` or ``make_train_function`` compiled, on tensors that are on the device already.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

Batch = tuple[Any, ...]


class Steps(ABC):
    """Steps of a compiled model.

    Parameters
    ----------
    model : keras.Model
        As :func:`~benchmarker.plugins.keras.model.make_model` returns it, compiled.
    upstream : int
        How many of the last tensors of a mini-batch are gradients of the outputs.
    """

    def __init__(self, model: Any, upstream: int) -> None:
        self.model = model
        self.upstream = upstream
        model.make_predict_function()
        model.make_train_function()

    @abstractmethod
    def predict(self, batch: Batch) -> Batch:
        """Return the outputs."""

    @abstractmethod
    def train(self, batch: Batch) -> Any:
        """Return the loss before the update."""

    @abstractmethod
    def differentiate(self, batch: Batch) -> tuple[Any, list[Any]]:
        """Return value and gradients of a training step without dropout; nothing moves."""

    @abstractmethod
    def gradient_step(self, batch: Batch) -> tuple[Any, list[Any]]:
        """Return value and gradients of a training step; statistics move, no parameter does."""

    def settle(self) -> None:  # noqa: B027 - most backends keep the state in the variables
        """Bring the state into the model's variables."""

    def synchronize(self, output: Any) -> None:  # noqa: B027 - a CPU is done when a function returns
        """Return when all that was asked for is done."""

    @property
    def traces(self) -> int:
        """How often the model has been compiled."""
        return int(self.model.calls)

    def _value(self, results: Batch) -> Any:
        return results if self.upstream else results[0]


class TensorFlowSteps(Steps):
    """``tf.function``; where Keras compiles with XLA, so do the gradients here."""

    def predict(self, batch: Batch) -> Batch:
        outputs: Batch = self.model.predict_function([(batch,)])
        return outputs

    def train(self, batch: Batch) -> Any:
        return self.model.train_function(iter(((batch,),)))["loss"]

    def differentiate(self, batch: Batch) -> tuple[Any, list[Any]]:
        found: tuple[Any, list[Any]] = self._frozen(*batch)
        return found

    def gradient_step(self, batch: Batch) -> tuple[Any, list[Any]]:
        found: tuple[Any, list[Any]] = self._moving(*batch)
        return found

    @cached_property
    def _frozen(self) -> Callable[..., Any]:
        return self._traced(self.model.lines.frozen)

    @cached_property
    def _moving(self) -> Callable[..., Any]:
        return self._traced(self.model.lines.training)

    def _traced(self, line: Callable[..., Batch]) -> Callable[..., Any]:
        import tensorflow as tf

        variables = [variable.value for variable in self.model.trainable_variables]

        def body(*batch: Any) -> tuple[Any, list[Any]]:
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(variables)
                results = line(*batch)
            given = list(batch[len(batch) - self.upstream :]) if self.upstream else None
            gradients = tape.gradient(
                list(results), variables, given, unconnected_gradients=tf.UnconnectedGradients.ZERO
            )
            return self._value(results), [tf.convert_to_tensor(gradient) for gradient in gradients]

        return tf.function(body, autograph=False, jit_compile=self.model.jit_compile)  # type: ignore[no-any-return]


class JaxSteps(Steps):
    """``jax.jit``; as in ``fit``, the state goes from step to step beside the variables, and is donated."""

    def __init__(self, model: Any, upstream: int) -> None:
        super().__init__(model, upstream)
        self._trained: Any = None
        self._predicted: Any = None

    def predict(self, batch: Batch) -> Batch:
        if self._predicted is None:
            self.settle()
            self._predicted = self._values(self.model.trainable_variables), self._others()
        outputs: Batch
        outputs, self._predicted = self.model.predict_function(self._predicted, iter(((batch,),)))
        return outputs

    def train(self, batch: Batch) -> Any:
        if self._trained is None:
            self.settle()
            model = self.model
            self._trained = (
                self._values(model.trainable_variables),
                self._others(),
                self._values(model.optimizer.variables),
                self._values(model.metrics_variables),
            )
        logs, self._trained = self.model.train_function(self._trained, iter(((batch,),)))
        return logs["loss"]

    def differentiate(self, batch: Batch) -> tuple[Any, list[Any]]:
        self.settle()
        value, gradients, _ = self._frozen(
            self._values(self.model.trainable_variables), self._others(), batch
        )
        return value, gradients

    def gradient_step(self, batch: Batch) -> tuple[Any, list[Any]]:
        if self._trained is None:
            self._trained = self._values(self.model.trainable_variables), self._others()
        trainable, others = self._trained
        value, gradients, others = self._moving(trainable, others, batch)
        self._trained = trainable, others
        return value, gradients

    def settle(self) -> None:
        """Assign to the variables what the steps have left; the next step starts from them."""
        state = self._trained or self._predicted
        self._trained = self._predicted = None
        if state is None:
            return
        model = self.model
        optimizer = model.optimizer.variables if len(state) > 2 else []
        groups = (
            model.trainable_variables,
            model.non_trainable_variables,
            optimizer,
            model.metrics_variables,
        )
        for variables, values in zip(groups, state):
            for variable, value in zip(variables, values):
                variable.assign(value)

    def synchronize(self, output: Any) -> None:
        import jax

        jax.block_until_ready((output, self._trained))

    @cached_property
    def _frozen(self) -> Callable[..., Any]:
        return self._jitted(self.model.lines.frozen)

    @cached_property
    def _moving(self) -> Callable[..., Any]:
        return self._jitted(self.model.lines.training)

    def _jitted(self, line: Callable[..., Batch]) -> Callable[..., Any]:
        import jax
        import keras

        model = self.model

        def body(trainable: list[Any], others: list[Any], batch: Batch) -> tuple[Any, list[Any], list[Any]]:
            def forward(values: list[Any]) -> tuple[Batch, list[Any]]:
                pairs = [
                    *zip(model.trainable_variables, values),
                    *zip(model.non_trainable_variables, others),
                ]
                with keras.StatelessScope(state_mapping=pairs) as scope:
                    results = line(*batch)
                return results, [scope.get_current_value(v) for v in model.non_trainable_variables]

            results, pullback, moved = jax.vjp(forward, trainable, has_aux=True)
            given = (
                batch[len(batch) - self.upstream :] if self.upstream else (jax.numpy.ones_like(results[0]),)
            )
            (gradients,) = pullback(given)
            return self._value(results), gradients, moved

        return jax.jit(body)  # type: ignore[no-any-return]

    def _others(self) -> list[Any]:
        return self._values(self.model.non_trainable_variables)

    @staticmethod
    def _values(variables: Sequence[Any]) -> list[Any]:
        return [variable.value for variable in variables]


class TorchSteps(Steps):
    """Eager PyTorch."""

    def predict(self, batch: Batch) -> Batch:
        outputs: Batch = self.model.predict_function([(batch,)])
        return outputs

    def train(self, batch: Batch) -> Any:
        return self.model.train_function([(batch,)])["loss"]

    def differentiate(self, batch: Batch) -> tuple[Any, list[Any]]:
        return self._backward(self.model.lines.frozen(*batch), batch)

    def gradient_step(self, batch: Batch) -> tuple[Any, list[Any]]:
        return self._backward(self.model.lines.training(*batch), batch)

    def _backward(self, results: Batch, batch: Batch) -> tuple[Any, list[Any]]:
        import torch

        gradients = torch.autograd.grad(
            results,
            [variable.value for variable in self.model.trainable_variables],
            batch[len(batch) - self.upstream :] if self.upstream else None,
            materialize_grads=True,
        )
        return self._value(results), list(gradients)

    @property
    def traces(self) -> int:
        """How often ``torch.compile`` has made a graph."""
        import torch

        return int(torch._dynamo.utils.counters["stats"]["unique_graphs"]) if self.model.jit_compile else 0


STEPS: dict[str, type[Steps]] = {"tensorflow": TensorFlowSteps, "jax": JaxSteps, "torch": TorchSteps}
"""By Keras' name of the backend."""
