"""An update rule in PyTorch's own operations, where it has no optimizer that computes the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarker.api.update_rule import ParameterPlace, Shape, UpdateRule
from benchmarker.plugins.common.composed import ComposedState, RuleSteps, View, views
from benchmarker.plugins.common.hyperparameters import Hyperparameters
from benchmarker.plugins.common.layouts import Layout
from benchmarker.plugins.pytorch.lowering import lower
from benchmarker.plugins.pytorch.tensors import to_numpy
from benchmarker.training.optimizers.update_graph import UpdateGraph, update_graph

Step = Callable[..., Any]


class ComposedOptimizer(ComposedState):
    """Updates tensors as PyTorch's optimizers do: by ``step()``, from the gradients that backward left.

    Parameters
    ----------
    known : Hyperparameters
        The rule, whose constants may change between updates.
    where : mapping
        What it knows of each parameter of the graph.
    native : mapping
        The tensors of each parameter.
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
        self._rule = rule = known.built_rule
        self._numbers = RuleSteps(known)
        self._functions = _Functions()
        self._parts = [
            _Part(rule, view, [native[name][place] for place in view.natives], self._functions)
            for name in where
            for view in views(rule, where[name], [tuple(t.shape) for t in native[name]], layouts[name])
        ]
        graphs = [part.view.totals(rule) for part in self._parts]
        self._totals = [
            self._functions.of(graph, part.dtype) for graph, part in zip(graphs, self._parts) if graph
        ]

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for part in self._parts:
            for tensor in part.tensors:
                tensor.grad = None

    def step(self) -> None:
        """Make one update."""
        import torch

        dtype = self._parts[0].dtype if self._parts else torch.float32
        with torch.no_grad():
            numbers = torch.tensor(self._numbers.next(), dtype=dtype).unbind()
            totals: list[Any] = []
            for function, part in zip(self._totals, self._parts):
                found = function(*part.given(), *numbers)
                totals = [a + b for a, b in zip(totals, found)] if totals else list(found)
            for part in self._parts:
                part.follow(*numbers, *totals)


class _Functions:
    """The straight-line functions of graphs, one for all tensors of a shape."""

    def __init__(self) -> None:
        self._made: dict[str, Step] = {}

    def of(self, update: UpdateGraph, dtype: Any) -> Step:
        """Return the function of a graph; it gives a tuple."""
        graph = update.graph
        key = repr((graph.inputs, graph.nodes, graph.outputs, dtype))
        if key not in self._made:
            function = lower(graph, graph.outputs, {}, training=False, dtype=dtype)
            self._made[key] = function if len(graph.outputs) > 1 else _tupled(function)
        return self._made[key]


def _tupled(function: Step) -> Step:
    return lambda *arguments: (function(*arguments),)


class _Part:
    """Native tensors that are updated together, with their state."""

    def __init__(self, rule: UpdateRule, view: View, tensors: Sequence[Any], functions: _Functions) -> None:
        self.view = view
        self.tensors = tensors
        self.dtype = tensors[0].dtype
        update, elements = view.update(rule), tensors[0].numel()
        start = view.start(rule, list(map(to_numpy, tensors)))
        self.state = {letter: self._kept(start[letter]) for letter in update.state}
        self._results = [(*update.parameters, *update.state).index(name) for name in update.results]
        alone = view.native_layout is None and rule.is_elementwise
        self._in_pieces = alone and _is_dense(tensors[0]) and elements > PIECE
        made = {view.place.shape: update}
        shapes: Sequence[Shape] = list(made)
        if self._in_pieces:
            shapes = _shapes_of_pieces(elements)
            made = {
                shape: update_graph(rule, replace(view.place, shape=shape)) for shape in dict.fromkeys(shapes)
            }
        self._functions = [functions.of(made[shape], self.dtype) for shape in shapes]

    def _kept(self, array: Any) -> Any:
        import torch

        like = self.tensors[0].detach()
        value = torch.tensor(array, dtype=like.dtype, device=like.device)
        # In the memory format of the parameter, which may have its channels last.
        return torch.empty_like(like).copy_(value) if value.shape == like.shape else value

    def given(self) -> tuple[Any, ...]:
        """Return what a function takes first: gradient, parameter, state."""
        import torch

        gradients = (torch.zeros_like(t) if t.grad is None else t.grad for t in self.tensors)
        return (*gradients, *self.tensors, *self.state.values())

    def follow(self, *scalars: Any) -> None:
        """Make an update, and write what it gives over what there was."""
        pieces = zip(*map(_pieces, self._alike())) if self._in_pieces else [self.given()]
        for function, given in zip(self._functions, pieces):
            kept = given[len(self.tensors) :]
            for index, value in zip(self._results, function(*given, *scalars)):
                if value is not kept[index]:
                    kept[index].copy_(value)

    def _alike(self) -> tuple[Any, ...]:
        """Return gradient, parameter and state, each standing in memory as the others do."""
        import torch

        gradient, tensor, *others = self.given()
        if gradient.stride() != tensor.stride():
            gradient = torch.empty_like(tensor).copy_(gradient)
        return (gradient, tensor, *others)


PIECE = 1 << 16
"""Elements that are updated together: all that an update reads and writes of them stays in a core's cache, which a
whole parameter leaves between any two operations."""


def _is_dense(tensor: Any) -> bool:
    """Tell whether a tensor's elements fill one stretch of the host's memory, in whatever order."""
    import torch

    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(tensor.dim(), torch.contiguous_format)
    dense: bool = tensor.is_contiguous() or tensor.is_contiguous(memory_format=last)
    return dense and tensor.device.type == "cpu"


def _shapes_of_pieces(elements: int) -> Sequence[Shape]:
    whole, rest = divmod(elements, PIECE)
    return [(PIECE,)] * whole + ([(rest,)] if rest else [])


def _pieces(tensor: Any) -> Sequence[Any]:
    found: Sequence[Any] = tensor.detach().as_strided((tensor.numel(),), (1,)).split(PIECE)
    return found
