"""Steps of a Keras model over JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from benchmarker.api.framework import Device
from benchmarker.api.profile import Profile
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.plugins.jax import devices
from benchmarker.plugins.jax.attribution import origins
from benchmarker.plugins.jax.profiler import profiled
from benchmarker.plugins.jax.steps import NODE, UPDATE
from benchmarker.plugins.keras.profiler_scopes import Marks, marked
from benchmarker.plugins.keras.steps import Batch, Steps

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]

Values = list[Any]
"""Of Keras variables, in their order."""


class JaxSteps(Steps):
    """``jax.jit``; as in ``fit``, the state goes from step to step beside the variables, and is donated."""

    def __init__(self, model: Any, upstream: int, device: Device) -> None:
        super().__init__(model, upstream, device)
        self._trained: Any = None
        self._predicted: Any = None

    def predict(self, batch: Batch) -> Batch:
        if self._predicted is None:
            self._predicted = self._state("inference")
        outputs: Batch
        outputs, self._predicted = self.model.predict_function(self._predicted, iter(((batch,),)))
        return outputs

    def train(self, batch: Batch) -> Any:
        if self._trained is None:
            self._trained = self._state("training")
        logs, self._trained = self.model.train_function(self._trained, iter(((batch,),)))
        return logs["loss"]

    def train_micro(self, batches: Sequence[Batch]) -> Any:
        if self._trained is None:
            self._trained = self._state("training")
        trainable, others, optimizer, metrics = self._trained
        sums = None
        for batch in batches:
            sums, others = self._accumulate(trainable, others, sums, batch)
        loss, trainable, optimizer = self._apply_mean(trainable, optimizer, sums, float(len(batches)))
        self._trained = trainable, others, optimizer, metrics
        return loss

    def differentiate(self, batch: Batch) -> tuple[Any, list[Any]]:
        found, _ = self._frozen(self._state("gradient"), batch)
        value, gradients = found
        return value, gradients

    def gradient_step(self, batch: Batch) -> tuple[Any, list[Any]]:
        if self._trained is None:
            self._trained = self._state("gradient")
        (value, gradients), self._trained = self._moving(self._trained, batch)
        return value, gradients

    def profile(self, graph: Graph, mode: str, batch: Batch, steps: int) -> Profile:
        import jax

        if not self.model.jit_compile:
            raise UnsupportedError(
                "JAX's profiler tells of single operators in a compiled program only; profile with jit=on"
            )
        state = self._state(mode)
        marks = Marks(lambda index, _: jax.named_scope(f"{NODE}{index}"), lambda: jax.named_scope(UPDATE))
        with marked(self.model, marks):
            whole = jax.jit(self._whole(mode), donate_argnums=0)
            compiled = whole.lower(state, batch).compile(devices.single_kernels(self.device.type))

        def step() -> None:
            nonlocal state
            _, state = jax.block_until_ready(compiled(state, batch))

        step()
        found = profiled(step, steps, origins(compiled.as_text()), [node.name for node in graph.nodes])
        self._trained = state
        self.settle()
        return found

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

    def assign(self, values: Sequence[tuple[Any, Array]]) -> None:
        known = [id(variable) for variable, _ in values]
        arrays = dict(zip(known, self._placed([array for _, array in values])))
        if self._trained is None:
            self.settle()
            for variable, _ in values:
                variable.assign(arrays[id(variable)])
            return
        model = self.model
        trainable, others, *rest = self._trained
        self._trained = (
            [arrays.get(id(v), old) for v, old in zip(model.trainable_variables, trainable)],
            [arrays.get(id(v), old) for v, old in zip(model.non_trainable_variables, others)],
            *rest,
        )

    def _placed(self, arrays: list[Array]) -> list[Any]:
        """Return values for variables."""
        import jax

        placed: list[Any] = jax.device_put(arrays)
        return placed

    def set_variable(self, variable: Any, value: Any) -> None:
        import jax

        if self._trained is None:
            variable.assign(value)
            return
        trainable, others, optimizer, metrics = self._trained
        known = self.model.optimizer.variables
        place = next(index for index, each in enumerate(known) if each is variable)
        optimizer = list(optimizer)
        optimizer[place] = jax.numpy.asarray(value, variable.dtype)
        self._trained = trainable, others, optimizer, metrics

    def synchronize(self, output: Any) -> None:
        import jax

        jax.block_until_ready((output, self._trained))

    def memory(self) -> dict[str, int]:
        return devices.memory(devices.place_of(self.device))

    # --- what is compiled --------------------------------------------------------------------

    @cached_property
    def _frozen(self) -> Callable[..., Any]:
        return self._jitted(self._differentiated(self.model.lines.frozen))

    @cached_property
    def _moving(self) -> Callable[..., Any]:
        return self._jitted(self._differentiated(self.model.lines.training))

    @cached_property
    def _accumulate(self) -> Callable[..., Any]:
        return self._jitted(self._accumulated, 1, 2)

    @cached_property
    def _apply_mean(self) -> Callable[..., Any]:
        return self._jitted(self._applied, 0, 1)

    def _jitted(self, body: Callable[..., Any], *donated: int) -> Callable[..., Any]:
        import jax

        return jax.jit(body, donate_argnums=donated) if self.model.jit_compile else body

    def _whole(self, mode: str) -> Callable[..., Any]:
        """Return the step of a mode as a function of state and mini-batch, as Keras' functions compile it."""
        model = self.model
        if mode == "gradient":
            return self._differentiated(model.lines.training)
        if mode == "training":
            return lambda state, batch: model.train_step(state, (batch,))

        def predict(state: tuple[Values, Values], batch: Batch) -> tuple[Batch, tuple[Values, Values]]:
            outputs, others = model.predict_step(state, (batch,))
            return outputs, (state[0], others)

        return predict

    def _differentiated(self, line: Callable[..., Batch]) -> Callable[..., Any]:
        import jax
        import keras

        model = self.model

        def body(state: tuple[Values, Values], batch: Batch) -> tuple[Any, tuple[Values, Values]]:
            trainable, others = state

            def forward(values: Values) -> tuple[Batch, Values]:
                pairs = [
                    *zip(model.trainable_variables, values),
                    *zip(model.non_trainable_variables, others),
                ]
                with keras.StatelessScope(state_mapping=pairs) as scope:
                    results = line(*batch)
                return results, [scope.get_current_value(v) for v in model.non_trainable_variables]

            results, pullback, moved = jax.vjp(forward, trainable, has_aux=True)
            given = self._upstream(batch) or [jax.numpy.ones_like(results[0])]
            (gradients,) = pullback(tuple(given))
            return (self._value(results), gradients), (trainable, moved)

        return body

    def _accumulated(
        self, trainable: Values, others: Values, sums: tuple[Any, Values] | None, batch: Batch
    ) -> tuple[tuple[Any, Values], Values]:
        """Return the sums of losses and gradients with one more each, and what the forward pass moved."""
        import jax

        def forward(values: Values) -> tuple[Any, Values]:
            loss, moved = self.model.stateless_call(values, others, batch, training=True)
            return loss, moved

        (loss, moved), gradients = jax.value_and_grad(forward, has_aux=True)(trainable)
        found = loss, gradients
        return (found if sums is None else jax.tree.map(jax.numpy.add, sums, found)), moved

    def _applied(
        self, trainable: Values, optimizer: Values, sums: tuple[Any, Values], count: Any
    ) -> tuple[Any, Values, Values]:
        """Return the mean loss, parameters and the optimizer's state after one update."""
        import jax

        loss, gradients = jax.tree.map(lambda total: total / count, sums)
        moved, remembered = self.model.optimizer.stateless_apply(optimizer, gradients, trainable)
        return loss, moved, remembered

    # --- the state ---------------------------------------------------------------------------

    def _state(self, mode: str) -> tuple[Values, ...]:
        """Return what a step of a mode takes besides the mini-batch, out of the variables."""
        self.settle()
        model = self.model
        groups = [model.trainable_variables, model.non_trainable_variables]
        if mode == "training":
            groups += [model.optimizer.variables, model.metrics_variables]
        return tuple([variable.value for variable in variables] for variables in groups)
