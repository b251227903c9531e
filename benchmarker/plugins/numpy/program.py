"""A program of NumPy: the steps of a graph as calls on arrays, a tape for reverse mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph, walk
from benchmarker.graph.types import Node
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.common.restoring import generator_words, set_generator
from benchmarker.plugins.numpy.equations import Equations, State, start_state
from benchmarker.plugins.numpy.evaluation import RuleProgram
from benchmarker.plugins.numpy.operators import NumpyOperators
from benchmarker.plugins.numpy.optimizers import NATIVE, Update, make_update
from benchmarker.plugins.numpy.profiler import Recording, RecordingTape
from benchmarker.plugins.numpy.tape import Rounding, Tape, Variable
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.advance import places

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.api.profile import Profile
    from benchmarker.api.training_state import TrainingState

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class _Step:
    """One node of inference, ready to call, with the values that nothing needs afterwards."""

    operator: Callable[..., Any]
    node: Node
    last_used: tuple[str, ...]


def _inference_steps(graph: Graph, operators: NumpyOperators) -> tuple[_Step, ...]:
    seen = {*graph.outputs, *(p.name for p in graph.parameters)}
    steps = []
    for node in reversed(graph.nodes):
        named = dict.fromkeys(name for name in (*node.inputs, *node.outputs) if name)
        steps.append(
            _Step(getattr(operators, node.operator), node, tuple(name for name in named if name not in seen))
        )
        seen.update(named)
    return tuple(reversed(steps))


class NumpyProgram(RuleProgram):
    """A graph on NumPy arrays: inference frees what is no longer needed, training keeps a tape.

    Parameters
    ----------
    operators : type
        The forward meaning.
    graph, parameters : Graph, mapping
        As given to :meth:`NumpyFramework.build`.
    dtype : type
        Floating type to compute in.
    optimizer : Optimizer or None
        None for inference.
    seed : int
        Seed of dropout's masks.
    native : bool
        Whether parameters are updated as is quickest in NumPy, where that is written.

    Attributes
    ----------
    switched : float
        In the backward pass, rectifiers and maxima that near to switching (a share of their largest
        input) have switched: what rounding may at most have done to the gradients there.
    rounded : callable or None
        Rounds the results of each operator, and the gradients that it passes on.
    """

    def __init__(
        self,
        operators: type[NumpyOperators],
        graph: Graph,
        parameters: Mapping[str, Array],
        dtype: type[Any],
        optimizer: Optimizer | None,
        seed: int,
        *,
        native: bool = False,
    ) -> None:
        self.switched = 0.0
        self.rounded: Rounding | None = None
        self._operators = operators
        self._graph = graph
        self._dtype = dtype
        values = {
            p.name: np.array(
                parameters[p.name], dtype if p.type.dtype == "float32" else p.type.dtype, order="C"
            )
            for p in graph.parameters
        }
        self._parameters = {name: self.held(array) for name, array in values.items()}
        self._trainable = {p.name: self._parameters[p.name] for p in graph.trainable}
        self._generator = np.random.default_rng(seed)
        self._outputs = graph.outputs
        self._inference = _inference_steps(graph.without_loss(), operators(dtype=dtype))
        self._hyperparameters = Hyperparameters(optimizer or Optimizer())
        self._state: State = {}
        self._update: Update | None = None
        if optimizer is not None:
            where = tuple(places(graph, optimizer.modifiers.decay_of).values())
            begun = start_state(self._hyperparameters.built_rule, where, values)
            self._state = {
                letter: {name: self.held(array) for name, array in arrays.items()}
                for letter, arrays in begun.items()
            }
            self._update = Equations(self._hyperparameters, self._trainable, self._state, where=where)
            self.composed_rule = optimizer.rule
            if native and optimizer.kind in NATIVE and not optimizer.modifiers:
                self.composed_rule = None
                self._update = make_update(self._hyperparameters, self._trainable, self._state)

    def load(self, batch: Mapping[str, Array]) -> dict[str, Array]:
        """Copy the mini-batch in the program's floating type; indices stay int64."""
        return {name: self._native(np.asarray(batch[name])) for name in (i.name for i in self._graph.inputs)}

    def _native(self, array: Array) -> Array:
        dtype = self._dtype if np.issubdtype(array.dtype, np.floating) else array.dtype
        held: Array = self.held(np.array(array, dtype, order="C"))
        return held

    def held(self, array: Array) -> Any:
        """Return an array of NumPy's as steps compute with it."""
        return array

    def to_numpy(self, array: Any) -> Array:
        """Return a copy of an array that steps computed with, contiguous and NumPy's."""
        copy: Array = np.array(array, order="C")
        return copy

    def recording(self) -> Recording:
        """Return what a profile is recorded in."""
        return Recording()

    def infer(self, batch: dict[str, Array]) -> tuple[Array, ...]:
        """Run forward and return the outputs."""
        values: dict[str, Any] = {**self._parameters, **batch}
        for step in self._inference:
            node = step.node
            inputs = [values[name] if name else None for name in node.inputs]
            result = step.operator(*inputs, **node.keywords)
            results = result if isinstance(result, tuple) else (result,)
            if self.rounded is not None:
                results = tuple(map(self.rounded, results))
            values.update(zip(node.outputs, results))
            for name in step.last_used:
                del values[name]
        return tuple(values[name] for name in self._outputs)

    def train_step(self, batch: dict[str, Array]) -> Any:
        """Run forward, backward and update; return the loss before the update."""
        if self._update is None:
            raise UnsupportedError("a program built for inference has no train_step")
        loss, gradients = self.half_step(batch)
        self._update(gradients)
        return loss

    def train_parts(self, batch: dict[str, Array]) -> Iterator[tuple[str, Any]]:
        """Run a step in its parts; the tape goes backwards right after the forward pass, as one part."""
        if self._update is None:
            raise UnsupportedError("a program built for inference has no parts of a training step")
        loss, gradients = self.half_step(batch)
        yield "forward and backward", loss
        self._update(gradients)
        yield "update", loss

    def train_micro(self, batches: Sequence[dict[str, Array]]) -> Any:
        """Update once with the mean of the gradients of all micro-batches; return their mean loss."""
        if self._update is None:
            raise UnsupportedError("a program built for inference cannot be trained")
        loss, total = self.half_step(batches[0])
        for batch in batches[1:]:
            further, gradients = self.half_step(batch)
            loss = loss + further
            for name, gradient in gradients.items():
                total[name] = total[name] + gradient
        self._update({name: gradient / len(batches) for name, gradient in total.items()})
        return loss / len(batches)

    def gradient_step(self, batch: dict[str, Array]) -> tuple[Any, dict[str, Array]]:
        """Run forward and backward; running statistics move, no parameter does."""
        return self.half_step(batch)

    def fetch_gradients(self, gradients: dict[str, Array]) -> dict[str, Array]:
        return gradients

    def half_step(self, batch: dict[str, Array]) -> tuple[Any, dict[str, Array]]:
        """Return loss (or outputs) and gradients: running statistics move, but no parameter yet."""
        return self._value_and_gradients(batch, Tape(self._moving(), self.rounded))

    def _moving(self) -> NumpyOperators:
        """Return the operators of a step: dropout is on, and running statistics move."""
        return self._operators(
            training=True, generator=self._generator, update_statistics=True, dtype=self._dtype
        )

    def profile(self, batch: dict[str, Array], steps: int) -> Profile:
        """Run steps with a clock around each call."""
        recording = self.recording()
        for _ in range(steps):
            with recording.step():
                self._recorded_step(batch, recording)
        return recording.profile()

    def _recorded_step(self, batch: dict[str, Array], recording: Recording) -> None:
        graph = self._graph
        if graph.loss is None and not graph.upstream:
            given = {**self._parameters, **batch}
            recording.walk(graph.without_loss(), self._operators(dtype=self._dtype), given)
            return
        tape = RecordingTape(self._moving(), recording)
        _, gradients = self._value_and_gradients(batch, tape, recording.walk)
        if self._update is not None:
            with recording.call(None, "update", "update"):
                self._update(gradients)

    def assign(self, values: Mapping[str, Array]) -> None:
        """Take these values of parameters and running statistics."""
        for name, value in values.items():
            self._parameters[name][...] = self.held(np.asarray(value, self._parameters[name].dtype))

    def optimizer_state(self) -> dict[str, dict[str, Array]]:
        """Return copies of the optimizer's state, in the program's floating type."""
        if self._update is None:
            raise UnsupportedError("a program built for inference has no optimizer")
        return {
            letter: {name: self.to_numpy(array) for name, array in arrays.items()}
            for letter, arrays in self._state.items()
        }

    def native_state(self) -> dict[str, Array]:
        """Return the state of the generator of dropout's masks."""
        return {"generator": generator_words(self._generator)}

    def restore(self, state: TrainingState) -> None:
        """Take weights, state and generator, and count updates from there."""
        if self._update is None:
            raise UnsupportedError("a program built for inference has no optimizer")
        self.assign(state.parameters)
        for letter, arrays in self._state.items():
            for name, array in arrays.items():
                array[...] = self.held(
                    np.asarray(np.reshape(state.optimizer[letter][name], array.shape), array.dtype)
                )
        if isinstance(self._update, Equations):
            self._update.resume_from(state.steps, state.numbers)
        else:
            self._update = make_update(self._hyperparameters, self._trainable, self._state, steps=state.steps)
        if "generator" in state.native:
            set_generator(self._generator, state.native["generator"])

    def set_hyperparameters(self, values: Mapping[str, float]) -> None:
        """Compute the next updates with these constants."""
        self.use_hyperparameters(self.prepare_hyperparameters(values))

    def prepare_hyperparameters(self, values: Mapping[str, float]) -> Optimizer:
        """Return the optimizer that has these constants."""
        if self._update is None:
            raise UnsupportedError("a program built for inference has no optimizer")
        return self._hyperparameters.prepared(values)

    def use_hyperparameters(self, prepared: Optimizer) -> None:
        """Compute the next updates with the constants of this optimizer."""
        self._hyperparameters.optimizer = prepared

    def value(self, name: str) -> Array:
        """Return a copy of a parameter or running statistic, in the program's floating type."""
        return self.to_numpy(self._parameters[name])

    def gradients(self, batch: dict[str, Array]) -> tuple[float, dict[str, Array]]:
        """Return loss and gradients in the program's floating type; nothing changes."""
        tape = Tape(self._operators(training=True, dtype=self._dtype), self.rounded)
        value, gradients = self._value_and_gradients(batch, tape)
        if self._graph.loss is None:
            products = (
                np.sum(output * batch[seed]) for output, seed in zip(value, self._graph.upstream.values())
            )
            return float(sum(products)), self.fetch_gradients(gradients)
        return float(value), self.fetch_gradients(gradients)

    def _value_and_gradients(
        self, batch: dict[str, Array], tape: Tape, walk: Callable[..., dict[str, Any]] = walk
    ) -> tuple[Any, dict[str, Array]]:
        graph = self._graph
        if graph.loss is None and not graph.upstream:
            raise UnsupportedError(f"the graph '{graph.name}' has no loss to differentiate")
        leaves = {name: Variable(p, name in self._trainable) for name, p in self._parameters.items()}
        inputs = {name: Variable(array) for name, array in batch.items()}
        known: dict[str, Variable] = walk(graph, tape, {**inputs, **leaves})
        if graph.loss is None:
            seeds = [(known[output], batch[seed]) for output, seed in graph.upstream.items()]
            value: Any = tuple(known[name].value for name in graph.outputs)
        else:
            value = known[graph.loss].value
            seeds = [(known[graph.loss], np.ones_like(value))]
        tape.backward(seeds, self.switched)
        return value, {name: leaves[name].take_gradient() for name in self._trainable}

    def parameters(self) -> dict[str, Array]:
        """Return copies of all parameters and running statistics, in the program's floating type."""
        return {name: self.to_numpy(p) for name, p in self._parameters.items()}

    def output_tensors(self, output: Any) -> Sequence[Any]:
        return tuple(output)

    def take(self, tensors: Sequence[Any]) -> dict[str, Any]:
        return {declared.name: array for declared, array in zip(self._graph.inputs, tensors)}

    def fetch(self, output: Any) -> tuple[Array, ...]:
        """Return copies, contiguous and in the program's floating type."""
        outputs = output if isinstance(output, tuple) else (output,)
        return tuple(map(self.to_numpy, outputs))

    def synchronize(self, output: Any) -> None:
        """Return at once: NumPy has finished when its calls return."""
