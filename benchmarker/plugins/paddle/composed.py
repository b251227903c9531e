"""An update rule as a straight line of Paddle's functions, where it has no optimizer that computes the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker.api.update_rule import ParameterPlace, UpdateRule
from benchmarker.graph.operators import native_operators
from benchmarker.graph.transformations.expand_composites import expand_composites
from benchmarker.plugins.common.composed import ComposedState, RuleSteps, native_place, require_whole, started
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.paddle.lowering import Line, lower
from benchmarker.plugins.paddle.operators import PaddleOperators
from benchmarker.training.optimizers.update_graph import PARAMETER, UpdateGraph, totals_graph, update_graph


class ComposedUpdate(ComposedState):
    """What moves parameters along their gradients by a rule.

    Parameters
    ----------
    known : Hyperparameters
        The rule, whose constants may change between updates.
    where : mapping
        What it knows of each parameter of the graph.
    native : mapping
        The tensors of each.
    """

    def __init__(
        self,
        known: Hyperparameters,
        where: Mapping[str, ParameterPlace],
        native: Mapping[str, Sequence[Any]],
    ) -> None:
        self._known = known
        self._rule = self.composed_rule = known.built_rule
        self._numbers = RuleSteps(known)
        for name in where:
            require_whole(self._rule, name, len(native[name]))
        self._parts = [
            _Part(self._rule, native_place(place, tuple(tensor.shape)), tensor)
            for name, place in where.items()
            for tensor in native[name]
        ]
        graphs = [totals_graph(self._rule, part.place) for part in self._parts]
        self._totals = [part.line(graph) for graph, part in zip(graphs, self._parts) if graph]

    def step(self) -> None:
        """Make one update, and forget the gradients."""
        import paddle

        with paddle.no_grad():
            numbers = [paddle.to_tensor(number, "float32") for number in self._numbers.next()]
            totals: list[Any] = []
            for line, part in zip(self._totals, self._parts):
                found = line(*part.given(), *numbers)
                totals = [a + b for a, b in zip(totals, found)] if totals else list(found)
            for part in self._parts:
                part.follow(*numbers, *totals)

    def set_constants(self, values: Mapping[str, float]) -> None:
        """Use other constants from the next update on."""
        self._known.take(values)

    def beside(self) -> dict[str, list[Any]]:
        """Return what is kept beside the state of the rule: nothing."""
        return {}


class _Part:
    """A native tensor with its state."""

    def __init__(self, rule: UpdateRule, place: ParameterPlace, tensor: Any) -> None:
        import paddle

        self.place = place
        self.tensor = tensor
        self._update = update_graph(rule, place)
        start = started(rule, place, tensor.numpy())
        self.state = {letter: paddle.to_tensor(start[letter], tensor.dtype) for letter in self._update.state}
        self._line = self.line(self._update)

    def line(self, made: UpdateGraph) -> Line:
        """Return the function of a graph of this tensor."""
        graph = expand_composites(made.graph, native_operators(PaddleOperators), PaddleOperators.framework)
        return lower(graph, graph.outputs, {}, PaddleOperators())

    def given(self) -> tuple[Any, ...]:
        """Return what a line takes first: gradient, parameter, state."""
        import paddle

        gradient = self.tensor.grad
        gradient = paddle.zeros_like(self.tensor) if gradient is None else gradient
        return (gradient, self.tensor, *self.state.values())

    def follow(self, *scalars: Any) -> None:
        """Make an update, and write what it gives over what there was."""
        import paddle

        for name, value in zip(self._update.results, self._line(*self.given(), *scalars)):
            kept = self.tensor if name == PARAMETER else self.state[name]
            if value is not kept:
                paddle.assign(value, kept)
        self.tensor.clear_gradient(False)
