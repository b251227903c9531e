"""Steps of a Keras model over TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.profile import Profile
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.keras.profiler_scopes import Marks, marked
from benchmarker.plugins.keras.steps import Batch, Steps
from benchmarker.plugins.tensorflow.micro_batching import MicroSteps
from benchmarker.plugins.tensorflow.profiler import UPDATE, profiled, scope_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class TensorFlowSteps(Steps):
    """``tf.function``; where Keras compiles with XLA, so do the gradients here."""

    def predict(self, batch: Batch) -> Batch:
        outputs: Batch = self.model.predict_function([(batch,)])
        return outputs

    def train(self, batch: Batch) -> Any:
        return self.model.train_function(iter(((batch,),)))["loss"]

    def train_micro(self, batches: Sequence[Batch]) -> Any:
        return self._micro(batches)

    def differentiate(self, batch: Batch) -> tuple[Any, list[Any]]:
        found: tuple[Any, list[Any]] = self._frozen(*batch)
        return found

    def gradient_step(self, batch: Batch) -> tuple[Any, list[Any]]:
        found: tuple[Any, list[Any]] = self._moving(*batch)
        return found

    def profile(self, graph: Graph, mode: str, batch: Batch, steps: int) -> Profile:
        import tensorflow as tf

        if self.model.jit_compile:
            raise UnsupportedError(
                "XLA joins the graph's operators into kernels of its own; profile with jit=off"
            )
        marks = Marks(lambda index, _: tf.name_scope(scope_of(index)), lambda: tf.name_scope(UPDATE))
        with marked(self.model, marks):
            # The functions that this one makes are of the marked lines.
            step = TensorFlowSteps(self.model, self.upstream, self.device)._step(mode)
            return profiled(tf, graph, lambda: step(batch), steps)

    def assign(self, values: Sequence[tuple[Any, Array]]) -> None:
        import tensorflow as tf

        for variable, array in values:
            # ``variable.assign`` reads the value back too.
            tf.raw_ops.AssignVariableOp(resource=variable.value.handle, value=tf.constant(array))

    def as_array(self, tensor: Any) -> Array:
        return np.asarray(memoryview(tensor))

    # --- what is traced ----------------------------------------------------------------------

    @cached_property
    def _frozen(self) -> Callable[..., Any]:
        return self._gradients_of(self.model.lines.frozen)

    @cached_property
    def _moving(self) -> Callable[..., Any]:
        return self._gradients_of(self.model.lines.training)

    @cached_property
    def _micro(self) -> MicroSteps:
        import tensorflow as tf

        def accumulated(share: Any, *batch: Any) -> tuple[Any, list[Any]]:
            with tf.GradientTape() as tape:
                loss = self.model(batch, training=True)
                scaled = self._shared(loss, share)
            return loss, self._gradients(tape, scaled)

        return MicroSteps(
            tf,
            lambda body: self._function(self._placed(body)),
            accumulated,
            self._placed(self._update),
            self._variables,
        )

    def _shared(self, loss: Any, share: Any) -> Any:
        """Return what a micro-batch gives to the gradients of its update."""
        return loss * share

    def _update(self, gradients: Sequence[Any]) -> None:
        self.model.optimizer.apply(gradients, self.model.trainable_variables)

    def _placed(self, body: Callable[..., Any]) -> Callable[..., Any]:
        """Return what runs a function where it is traced; ranks are replicas of a strategy."""
        return body

    def _gradients_of(self, line: Callable[..., Batch]) -> Callable[..., Any]:
        import tensorflow as tf

        def body(*batch: Any) -> tuple[Any, list[Any]]:
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(self._variables)
                results = line(*batch)
            gradients = self._gradients(tape, list(results), self._upstream(batch))
            return self._value(results), [tf.convert_to_tensor(gradient) for gradient in gradients]

        return self._function(body)

    def _gradients(self, tape: Any, results: Any, upstream: list[Any] | None = None) -> list[Any]:
        found: list[Any] = tape.gradient(results, self._variables, upstream, unconnected_gradients="zero")
        return found

    def _function(self, body: Callable[..., Any]) -> Callable[..., Any]:
        import tensorflow as tf

        made: Callable[..., Any] = tf.function(body, autograph=False, jit_compile=self.model.jit_compile)
        return made

    @property
    def _variables(self) -> list[Any]:
        return [variable.value for variable in self.model.trainable_variables]
