"""An update rule in functions of Chainer or of its arrays, where it has no optimizer that computes the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.update_rule import ParameterPlace, UpdateRule
from benchmarker.plugins.chainer.in_place import ArrayFunctions
from benchmarker.plugins.chainer.operators import ChainerOperators
from benchmarker.plugins.common.composed import ComposedState, RuleSteps, View, views
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.common.in_place import Scratch, in_place_update
from benchmarker.plugins.common.layouts import Layout
from benchmarker.plugins.common.straight_line import straight_line
from benchmarker.training.optimizers.update_graph import UpdateGraph

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class ComposedUpdates(ComposedState):
    """What moves parameters along their gradients by a rule, called as ``Updates`` are.

    In place where elements go each its own way, else by a straight line, which takes its numbers as variables.

    Parameters
    ----------
    known : Hyperparameters
        The rule, whose constants may change between updates.
    where : mapping
        What it knows of each parameter of the graph.
    native : mapping
        The ``chainer.Parameter`` objects of each.
    layouts : mapping
        How these stand.
    device : chainer.backend.Device
        Where their arrays are.
    dtype : type
        Their floating type.
    """

    def __init__(
        self,
        known: Hyperparameters,
        where: Mapping[str, ParameterPlace],
        native: Mapping[str, Sequence[Any]],
        layouts: Mapping[str, Layout],
        device: Any,
        dtype: type[Any],
    ) -> None:
        self._known = known
        self._rule = rule = known.built_rule
        self._numbers = RuleSteps(known)
        self._device, self._dtype = device, dtype
        self._parts = [
            _Part(rule, view, [native[name][place] for place in view.natives], device)
            for name in where
            for view in views(rule, where[name], [p.shape for p in native[name]], layouts[name])
        ]
        self._operators = ChainerOperators(dtype=dtype, device=device)
        functions, names, scratch = ArrayFunctions(device.xp), self._numbers.names, Scratch()
        self._in_place = [in_place_update(part.update, names, functions, scratch) for part in self._parts]
        self._lines = [
            None if update else self._line(part.update) for update, part in zip(self._in_place, self._parts)
        ]
        graphs = [part.view.totals(rule) for part in self._parts]
        self._totals = [self._line(graph) for graph in graphs if graph]

    def _line(self, made: UpdateGraph) -> Callable[..., tuple[Any, ...]]:
        graph = made.graph
        shapes = {name: type_.shape for name, type_ in graph.types.items()}
        binding = {
            node.name: self._operators.bind(
                node.operator,
                node.keywords,
                [shapes[name] for name in node.inputs],
                [True] * len(node.outputs),
            )
            for node in graph.nodes
        }
        return straight_line(graph, binding, outputs=graph.outputs)

    def __call__(self) -> None:
        """Update every parameter."""
        import chainer

        with chainer.no_backprop_mode():
            numbers = self._numbers.next()
            scalars = [
                chainer.as_variable(self._device.send(np.array(number, self._dtype)))
                for number in numbers
                if None in self._in_place
            ]
            totals: list[Any] = []
            for line, part in zip(self._totals, self._parts):
                found = line(*map(chainer.as_variable, part.given()), *scalars)
                totals = [a + b for a, b in zip(totals, found)] if totals else list(found)
            for update, other, part in zip(self._in_place, self._lines, self._parts):
                if update is not None:
                    update(numbers, part.given())
                if other is not None:
                    part.take(other(*map(chainer.as_variable, part.given()), *scalars, *totals))

    def set_constants(self, values: Mapping[str, float]) -> None:
        """Use other constants from the next update on."""
        self._known.take(values)


class _Part:
    """Native parameters that are updated together, with their state."""

    def __init__(self, rule: UpdateRule, view: View, parameters: Sequence[Any], device: Any) -> None:
        import chainer

        self.view = view
        self._parameters = parameters
        self.update = view.update(rule)
        fetched = chainer.get_device("@numpy")
        arrays = [fetched.send(parameter.array) for parameter in parameters]
        start = view.start(rule, arrays)
        self.state = {
            letter: device.send(np.array(start[letter], arrays[0].dtype)) for letter in self.update.state
        }

    def given(self) -> tuple[Any, ...]:
        """Return what an update takes first: gradient, parameter, state."""
        gradients = (p.device.xp.zeros_like(p.array) if p.grad is None else p.grad for p in self._parameters)
        arrays = (parameter.array for parameter in self._parameters)
        return (*gradients, *arrays, *self.state.values())

    def take(self, results: Sequence[Any]) -> None:
        """Write what an update has given over what there was."""
        arrays = (parameter.array for parameter in self._parameters)
        held = {**dict(zip(self.update.parameters, arrays)), **self.state}
        for name, value in zip(self.update.results, results):
            if value.array is not held[name]:
                held[name][...] = value.array
