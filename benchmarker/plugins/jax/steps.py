"""The steps of a graph as pure functions of arrays, which XLA compiles each in one piece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from benchmarker.api.optimizer import Optimizer
from benchmarker.graph.graph import Graph, apply_node
from benchmarker.plugins.jax.composed import ComposedUpdate
from benchmarker.plugins.jax.operators import JaxOperators
from benchmarker.plugins.jax.optimizers import Arrays, OptimizerState, updated
from benchmarker.plugins.jax.tensors import Form, Tensor
from benchmarker.quick_dataclass import dataclass

Batch = Sequence[Any]

NODE = "graph_node_"
"""What marks the operations of a node in XLA's program, before the node's number."""
UPDATE = "optimizer_update"
"""What marks the operations of the update."""


class MutableState(NamedTuple):
    """What each forward pass in training replaces.

    Parameters
    ----------
    statistics : mapping
        Running statistics by name.
    key : jax.Array or None
        What the next step's dropout is drawn from; None where there is none.
    """

    statistics: Arrays
    key: Any


class State(NamedTuple):
    """What a training step replaces.

    Parameters
    ----------
    trained : mapping
        Trainable parameters by name.
    moved : Moved
        What already the forward pass replaces.
    optimizer : OptimizerState
        What the optimizer remembers.
    """

    trained: Arrays
    moved: MutableState
    optimizer: OptimizerState


@dataclass(frozen=True)
class Precision:
    """Element types of a program.

    Parameters
    ----------
    compute, exact : str
        As in :class:`~benchmarker.plugins.jax.layout_operators.Arranging`.
    loss_scale : float
        What the loss is multiplied by so that small gradients survive the format (a power of two is exact).
    """

    compute: str
    exact: str = "float32"
    loss_scale: float = 1.0


@dataclass(frozen=True)
class Steps:
    """A graph's steps; each method is traced once.

    Parameters
    ----------
    graph : Graph
        The graph.
    forms : mapping
        How inputs and parameters stand.
    precision : Precision
        Element types.
    channels_last : bool
        Whether images stand channels last.
    optimizer : Optimizer
        For training.
    composed : ComposedUpdate or None
        Its update where it is made of the rule's own operators.
    axis : str or None
        As in :class:`~benchmarker.plugins.jax.layout_operators.Arranging`.

    Attributes
    ----------
    output_forms : dict
        How the outputs stand; known once a step was traced.
    """

    graph: Graph
    forms: Mapping[str, Form]
    precision: Precision
    channels_last: bool
    optimizer: Optimizer
    composed: ComposedUpdate | None = None
    axis: str | None = None
    output_forms: dict[str, Form] = field(default_factory=dict)

    def infer(self, parameters: Arrays, batch: Batch) -> tuple[Any, ...]:
        """Return the outputs."""
        operators = self._operators()
        return self._outputs(self._values(operators, parameters, batch))

    def train(self, state: State, constants: Any, fixed: Arrays, batch: Batch) -> tuple[Any, State]:
        """Return the loss before the update, and what the step leaves."""
        loss, gradients, moved = self.differentiate(state.trained, state.moved, fixed, batch)
        return loss, self._updated(state._replace(moved=moved), constants, gradients)

    def accumulate(
        self, trained: Arrays, moved: MutableState, sums: tuple[Any, Arrays], fixed: Arrays, batch: Batch
    ) -> tuple[tuple[Any, Arrays], MutableState]:
        """Return the sums of losses and gradients with one more each, and what the forward pass moved."""
        import jax

        loss, gradients, moved = self.differentiate(trained, moved, fixed, batch)
        with jax.named_scope(UPDATE):
            return (sums[0] + loss, jax.tree.map(jax.numpy.add, sums[1], gradients)), moved

    def apply_mean(
        self, state: State, constants: Any, sums: tuple[Any, Arrays], count: Any
    ) -> tuple[Any, State]:
        """Return the mean loss, and the state after an update by the mean of the gradients."""
        import jax

        loss, gradients = jax.tree.map(lambda array: array / count, sums)
        return loss, self._updated(state, constants, gradients)

    def no_sums(self, trained: Arrays) -> tuple[Any, Arrays]:
        """Return sums of no losses and no gradients."""
        import jax

        return jax.numpy.zeros((), self.precision.exact), jax.tree.map(jax.numpy.zeros_like, trained)

    def differentiate(
        self, trained: Arrays, moved: MutableState, fixed: Arrays, batch: Batch, *, dropout: bool = True
    ) -> tuple[Any, dict[str, Any], MutableState]:
        """Return the loss or the outputs, the gradients, and what the forward pass moved."""
        import jax

        key, step_key = moved.key, None
        if key is not None and dropout:
            key, step_key = jax.random.split(key)
        operators = self._operators(training=True, key=step_key)

        def forward(trained: Arrays) -> tuple[Any, Any]:
            values = self._values(operators, {**trained, **moved.statistics, **fixed}, batch)
            statistics = {**moved.statistics, **operators.updates}
            if self.graph.loss is None:
                return self._outputs(values), statistics
            loss = values[self.graph.loss].value
            return loss * self.precision.loss_scale, (loss, statistics)

        if self.graph.loss is None:
            value, pullback, statistics = jax.vjp(forward, trained, has_aux=True)
            (gradients,) = pullback(self._upstream(value, batch))
        else:
            (_, (value, statistics)), gradients = jax.value_and_grad(forward, has_aux=True)(trained)
            if self.precision.loss_scale != 1.0:
                gradients = jax.tree.map(lambda g: g / self.precision.loss_scale, gradients)
        return value, gradients, MutableState(statistics, key)

    def _updated(self, state: State, constants: Any, gradients: Arrays) -> State:
        import jax

        with jax.named_scope(UPDATE):
            if self.composed is not None:
                slots = state.optimizer.slots
                moved, slots = self.composed.updated(constants, state.trained, gradients, slots)
                return state._replace(trained=moved, optimizer=OptimizerState(slots, None))
            trained, remembered = updated(
                jax.numpy, self.optimizer, constants, state.trained, gradients, state.optimizer
            )
        return state._replace(trained=trained, optimizer=remembered)

    def _operators(self, *, training: bool = False, key: Any = None) -> JaxOperators:
        return JaxOperators(
            self.precision.compute,
            self.precision.exact,
            channels_last=self.channels_last,
            training=training,
            key=key,
            axis=self.axis,
        )

    def _values(self, operators: JaxOperators, parameters: Arrays, batch: Batch) -> dict[str, Tensor]:
        """Return every value of the graph; what a node becomes bears its number in XLA's program."""
        import jax

        known = {i.name: Tensor(array, self.forms[i.name]) for i, array in zip(self.graph.inputs, batch)}
        known.update({name: Tensor(p, self.forms[name], name) for name, p in parameters.items()})
        for number, node in enumerate(self.graph.nodes):
            inputs = [known[name] if name else None for name in node.inputs]
            with jax.named_scope(f"{NODE}{number}"):
                known.update(zip(node.outputs, apply_node(node, operators, inputs)))
        return known

    def _outputs(self, values: Mapping[str, Tensor]) -> tuple[Any, ...]:
        self.output_forms.update({name: values[name].form for name in self.graph.outputs})
        return tuple(values[name].value for name in self.graph.outputs)

    def _upstream(self, outputs: tuple[Any, ...], batch: Batch) -> tuple[Any, ...]:
        given = {i.name: array for i, array in zip(self.graph.inputs, batch)}
        names = [self.graph.upstream[name] for name in self.graph.outputs]
        return tuple(given[name].astype(output.dtype) for name, output in zip(names, outputs))
