"""A program of Keras: the graph as a compiled model, over whichever backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.framework import Device
from benchmarker.api.generation import OWN_OUTPUTS
from benchmarker.api.optimizer import Optimizer
from benchmarker.api.profile import Profile
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.graph.transformations.expand_composites import expand_composites
from benchmarker.plugins.common.axis_orders import Order, graph_order, inverse
from benchmarker.plugins.common.composed import axes_of
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.common.integers import require_32_bits
from benchmarker.plugins.keras.binding import Binding
from benchmarker.plugins.keras.binding_site import Setting
from benchmarker.plugins.keras.composed import composed_optimizer, parts
from benchmarker.plugins.keras.model import make_model
from benchmarker.plugins.keras.operators import BINDERS
from benchmarker.plugins.keras.optimizers import (
    build_optimizer,
    changing_variable,
    is_native,
    make_optimizer,
    native_state,
)
from benchmarker.plugins.keras.restoring import RestorableProgram
from benchmarker.plugins.keras.steps import Steps
from benchmarker.training.optimizers.advance import places

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class KerasProgram(RestorableProgram):
    """A graph as a compiled Keras model; see :meth:`benchmarker.api.framework.Framework.build`."""

    def __init__(
        self,
        graph: Graph,
        parameters: Mapping[str, Array],
        *,
        mode: str,
        setting: Setting,
        steps: type[Steps],
        optimizer: Optimizer,
        jit: Any,
        device: Device,
    ) -> None:
        from keras import ops

        if setting.native_type("int64") == "int32":
            require_32_bits(parameters)
        self._ops = ops
        self._graph = expand_composites(graph, BINDERS)
        self._mode = mode
        self._native_type = setting.native_type
        self._binding = Binding(self._graph, setting)
        self._model = make_model(self._graph, self._binding, parameters)
        self._hyperparameters = Hyperparameters(optimizer)
        self._composed: Any = None
        self._orders: list[Order | None] = []
        chosen = self._made_optimizer(mode, setting)
        self._model.compile(optimizer=chosen, jit_compile=jit)
        if mode == "training":
            build_optimizer(optimizer, chosen, self._model.trainable_variables)
        self._steps = steps(self._model, len(graph.upstream), device)

    def _made_optimizer(self, mode: str, setting: Setting) -> Any:
        known = self._hyperparameters
        if mode != "training":
            return make_optimizer(Optimizer())
        where = places(self._graph, known.optimizer.modifiers.decay_of)
        if known.built_rule.uses_axes:
            self._orders = [axes_of(self._binding.layouts[name], p.shape) for name, p in where.items()]
        if is_native(known.optimizer, self._orders):
            return make_optimizer(known.optimizer)
        seen = parts(known, where, self._binding.layouts)
        self.composed_rule = known.built_rule
        self._composed = composed_optimizer(known, seen, setting)
        return self._composed

    # --- the timed path ----------------------------------------------------------------------

    def infer(self, batch: Any) -> Any:
        return self._steps.predict(batch)

    def train_step(self, batch: Any) -> Any:
        self._advance()
        return self._steps.train(batch)

    def _advance(self) -> None:
        """Bring the numbers of the next update to a rule's own operators."""
        if self._composed is not None:
            self._steps.set_variable(self._composed.numbers, np.array(self._composed.steps.next()))

    def train_micro(self, batches: Sequence[Any]) -> Any:
        self._advance()
        return self._steps.train_micro(batches)

    def gradient_step(self, batch: Any) -> tuple[Any, Any]:
        return self._steps.gradient_step(batch)

    def synchronize(self, output: Any) -> None:
        self._steps.synchronize(output)

    def compilations(self) -> int:
        return self._steps.traces

    def profile(self, batch: Any, steps: int) -> Profile:
        return self._steps.profile(self._graph, self._mode, batch, steps)

    def memory(self) -> dict[str, int]:
        return self._steps.memory()

    def reset_memory(self) -> None:
        self._steps.reset_memory()

    def device_event(self) -> Any:
        return self._steps.event()

    def device_seconds(self, first: Any, last: Any) -> float:
        return self._steps.seconds_between(first, last)

    # --- the edges ---------------------------------------------------------------------------

    def load(self, batch: Mapping[str, Array]) -> Any:
        return tuple(
            self._loaded(batch[i.name].transpose(self._binding.orders[i.name])) for i in self._graph.inputs
        )

    def _loaded(self, array: Array) -> Any:
        return self._ops.convert_to_tensor(self._copied(array))

    def _copied(self, array: Array) -> Array:
        """Return a copy, for a tensor may share its memory with the array."""
        kind = {"f": "float32", "b": "bool"}.get(array.dtype.kind, "int64")
        return np.array(array, self._native_type(kind), order="C")

    def output_tensors(self, output: Any) -> Sequence[Any]:
        orders = [self._binding.orders[name] for name in self._graph.outputs]
        others = zip(output[OWN_OUTPUTS:], orders[OWN_OUTPUTS:])
        return (*output[:OWN_OUTPUTS], *(self._as_in_the_graph(value, order) for value, order in others))

    def _as_in_the_graph(self, value: Any, order: Order) -> Any:
        in_place = order == graph_order(len(order))
        return value if in_place else self._ops.transpose(value, inverse(order))

    def take(self, tensors: Sequence[Any]) -> Any:
        return tuple(tensors)

    def fetch(self, output: Any) -> tuple[Array, ...]:
        if not isinstance(output, (tuple, list)):
            return (self._array(output),)
        orders = [self._binding.orders[name] for name in self._graph.outputs]
        return tuple(self._array(value).transpose(inverse(o)) for value, o in zip(output, orders))

    def parameters(self) -> dict[str, Array]:
        self._steps.settle()
        weights = self._model.weights_by_name
        return {p.name: self._decoded(p.name, weights[p.name]) for p in self._graph.parameters}

    def optimizer_state(self) -> dict[str, dict[str, Array]]:
        if self._mode != "training":
            raise UnsupportedError("a program that was not built for training has no optimizer")
        self._steps.settle()
        if self._composed is not None:
            return self._composed_state()
        return {letter: self._by_parameter(letter, kept) for letter, kept in self._native_slots().items()}

    def _native_slots(self) -> dict[str, Sequence[Any]]:
        return native_state(self._hyperparameters.optimizer, self._model.optimizer, self._orders)

    def set_hyperparameters(self, values: Mapping[str, float]) -> None:
        if self._mode != "training":
            raise UnsupportedError("a program that was not built for training has no optimizer")
        self._hyperparameters.take(values)
        if self._composed is not None:
            return
        for name in self._hyperparameters.names:
            if name in values:
                variable = changing_variable(self._model.optimizer, name)
                self._steps.set_variable(variable, float(values[name]))

    def _composed_state(self) -> dict[str, dict[str, Array]]:
        """Return the state of a rule: what it keeps as it sees parameters, or in the graph's layout."""
        found: dict[str, dict[str, Array]] = {letter: {} for letter in self._composed.rule.state}
        trainable = list(self._graph.trainable)
        for p, state, variable in zip(trainable, self._composed.states, self._model.trainable_variables):
            for letter, kept in state.items():
                alike = tuple(kept.shape) == tuple(variable.shape) and not self._composed.rule.uses_axes
                found[letter][p.name] = self._decoded(p.name, kept) if alike else self._array(kept)
        return found

    def _by_parameter(self, letter: str, variables: Sequence[Any]) -> dict[str, Array]:
        """Return what there is one of for each of Keras' trainable variables, in their order, by parameter."""
        return {
            name: self._decoded(name, kept) if shape is None else self._array(kept).reshape(shape)
            for name, kept, shape in self._kept_by_parameter(letter, variables)
        }

    def assign(self, values: Mapping[str, Array]) -> None:
        weights, layouts = self._model.weights_by_name, self._binding.layouts
        self._steps.assign(
            [(weights[name], self._copied(*layouts[name].encode(value))) for name, value in values.items()]
        )

    def gradients(self, batch: Any) -> tuple[float, dict[str, Array]]:
        value, gradients = self._steps.differentiate(batch)
        found = self.fetch_gradients(gradients)
        found = {name: np.array(array, order="C") for name, array in found.items()}
        if not self._graph.upstream:
            return float(self._array(value)), found
        given = batch[len(batch) - len(value) :]
        products = (np.vdot(self._array(y), self._array(dy)) for y, dy in zip(value, given))
        return float(sum(products)), found

    def fetch_gradients(self, gradients: Any) -> dict[str, Array]:
        layouts, as_array = self._binding.layouts, self._steps.as_array
        return {
            p.name: layouts[p.name].decode([as_array(gradient)])
            for p, gradient in zip(self._graph.trainable, gradients)
        }

    def _decoded(self, name: str, native: Any) -> Array:
        return np.array(self._binding.layouts[name].decode([self._array(native)]), order="C")

    def _array(self, tensor: Any) -> Array:
        return np.array(self._ops.convert_to_numpy(tensor))
