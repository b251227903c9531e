"""An update rule in Paddle's functions, where it has no optimizer that computes the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarker.api.update_rule import ParameterPlace, UpdateRule
from benchmarker.graph.operators import native_operators
from benchmarker.graph.transformations.expand_composites import expand_composites
from benchmarker.plugins.common.composed import ComposedState, RuleSteps, View, views
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.common.in_place import Scratch, in_place_update
from benchmarker.plugins.common.layouts import Layout
from benchmarker.plugins.paddle.in_place import TensorFunctions
from benchmarker.plugins.paddle.lowering import Line, lower
from benchmarker.plugins.paddle.operators import PaddleOperators
from benchmarker.training.optimizers.update_graph import UpdateGraph


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
    layouts : mapping
        How these stand.
    """

    def __init__(
        self,
        known: Hyperparameters,
        where: Mapping[str, ParameterPlace],
        native: Mapping[str, Sequence[Any]],
        layouts: Mapping[str, Layout],
    ) -> None:
        self._known = known
        self._rule = self.composed_rule = rule = known.built_rule
        self._numbers = RuleSteps(known)
        scratch: dict[Any, Scratch] = {}  # by element type
        self._parts = [
            _Part(rule, view, [native[name][place] for place in view.natives], self._numbers.names, scratch)
            for name in where
            for view in views(rule, where[name], [tuple(t.shape) for t in native[name]], layouts[name])
        ]
        graphs = [part.view.totals(rule) for part in self._parts]
        self._totals = [part.line(graph) for graph, part in zip(graphs, self._parts) if graph]

    def step(self) -> None:
        """Make one update, and forget the gradients."""
        import paddle

        numbers = self._numbers.next()
        takes_tensors = any(part.takes_tensors for part in self._parts)
        with paddle.no_grad():
            scalars = [paddle.to_tensor(number, "float32") for number in numbers if takes_tensors]
            totals: list[Any] = []
            for line, part in zip(self._totals, self._parts):
                found = line(*part.given(), *scalars)
                totals = [a + b for a, b in zip(totals, found)] if totals else list(found)
            for part in self._parts:
                part.follow(numbers, [*scalars, *totals])

    def set_constants(self, values: Mapping[str, float]) -> None:
        """Use other constants from the next update on."""
        self._known.take(values)

    def extra_state(self) -> dict[str, list[Any]]:
        """Return what is kept in addition to the state of the rule: nothing."""
        return {}


class _Part:
    """Native tensors that are updated together, with their state.

    In place where elements go each its own way, else by a straight line, which takes its numbers as tensors.
    """

    def __init__(
        self,
        rule: UpdateRule,
        view: View,
        tensors: Sequence[Any],
        numbers: Sequence[str],
        scratch: dict[Any, Scratch],
    ) -> None:
        import paddle

        self.view = view
        self._tensors = tensors
        self._update = view.update(rule)
        start = view.start(rule, [tensor.numpy() for tensor in tensors])
        dtype = tensors[0].dtype
        self.state = {letter: paddle.to_tensor(start[letter], dtype) for letter in self._update.state}
        self._in_place = in_place_update(
            self._update, numbers, TensorFunctions(), scratch.setdefault(dtype, {})
        )
        self.takes_tensors = self._in_place is None
        self._line = self.line(self._update) if self.takes_tensors else None

    def line(self, made: UpdateGraph) -> Line:
        """Return the function of a graph of these tensors."""
        graph = expand_composites(made.graph, native_operators(PaddleOperators), PaddleOperators.framework)
        return lower(graph, graph.outputs, {}, PaddleOperators())

    def given(self) -> tuple[Any, ...]:
        """Return what a line takes first: gradient, parameter, state."""
        import paddle

        gradients = (paddle.zeros_like(t) if t.grad is None else t.grad for t in self._tensors)
        return (*gradients, *self._tensors, *self.state.values())

    def follow(self, numbers: Sequence[float], scalars: Sequence[Any]) -> None:
        """Make an update, and forget the gradients."""
        if self._in_place is not None:
            self._in_place(numbers, self.given())
        if self._line is not None:
            self._write(self._line(*self.given(), *scalars))
        for tensor in self._tensors:
            tensor.clear_gradient(False)

    def _write(self, results: Sequence[Any]) -> None:
        """Write what an update gives over what there was."""
        import paddle

        held = {**dict(zip(self._update.parameters, self._tensors)), **self.state}
        for name, value in zip(self._update.results, results):
            if value is not held[name]:
                paddle.assign(value, held[name])
