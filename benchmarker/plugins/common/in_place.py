"""An update's operators one after the other, each with the array that takes its result: one that nobody reads any more.

A new array for every result costs more than the arithmetic, since its pages come from the kernel: a product of 2.4
million elements takes Paddle 2.5 ms in a new one and 0.4 in place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from benchmarker.api.update_rule import Shape
from benchmarker.graph.types import Node
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.optimizers.update_graph import GRADIENT, PARAMETER, UpdateGraph

InPlaceUpdate = Callable[[Sequence[float], Sequence[Any]], None]
"""Takes the numbers of a step, then a parameter's gradient, itself and its state."""
Scratch = dict[tuple[Shape, int], Any]
"""Arrays for what is between operators, by shape and number of the step that first took one."""
WITH_NUMBERS = frozenset(("add", "sub", "mul", "div"))
"""Operators that take a number in the place of one of their arrays."""
OPERATORS = WITH_NUMBERS | {"affine", "sqrt", "abs", "clip"}
"""Those of a plan, each on single elements."""


class Functions(Protocol):
    """A framework's functions on its arrays and on numbers, which are floats; one operand at least is an array.

    Each writes its result over the array ``into``, an operand or another, and returns that; a new one where it is None.
    What ``joins`` has ``plus_scaled(x, y, number, alpha=..., into=...)`` too: ``x + alpha * number * y`` in one pass,
    where the number is 1 by default.
    """

    joins: bool

    def add(self, a: Any, b: Any, *, into: Any) -> Any: ...
    def sub(self, a: Any, b: Any, *, into: Any) -> Any: ...
    def mul(self, a: Any, b: Any, *, into: Any) -> Any: ...
    def div(self, a: Any, b: Any, *, into: Any) -> Any: ...
    def affine(self, x: Any, *, alpha: float, beta: float, into: Any) -> Any: ...
    def sqrt(self, x: Any, *, into: Any) -> Any: ...
    def abs(self, x: Any, *, into: Any) -> Any: ...
    def clip(self, x: Any, *, min: float, max: float, into: Any) -> Any: ...

    def copy(self, value: Any, into: Any) -> object:
        """Write an array over another."""


@dataclass(frozen=True)
class Step:
    """An operator on values by their places: numbers, then the arrays of the inputs, then the results so far.

    Parameters
    ----------
    operator : str
        Of :data:`OPERATORS`, or ``plus_scaled``.
    operands : tuple of int
        Their places.
    keywords : mapping
        Its attributes.
    into : int or None
        The place of the value whose array takes the result; None for an array of :data:`Scratch`.
    """

    operator: str
    operands: tuple[int, ...]
    keywords: Mapping[str, Any]
    into: int | None


@dataclass(frozen=True)
class Plan:
    """An update of one parameter.

    Parameters
    ----------
    steps : tuple of Step
        In their order.
    copies : tuple of tuple of int
        Places of a result and of the input whose array it belongs into, where it is not there yet.
    """

    steps: tuple[Step, ...]
    copies: tuple[tuple[int, int], ...]


def in_place_update(
    made: UpdateGraph, numbers: Sequence[str], functions: Functions, scratch: Scratch
) -> InPlaceUpdate | None:
    """Return an update that writes over its arrays; None where their elements meet.

    Parameters
    ----------
    made : UpdateGraph
        The update.
    numbers : sequence of str
        Names of its numbers, in the order in which it is given them.
    functions : Functions
        What it calls.
    scratch : dict
        Is added to. All updates of one framework may share it, as one is made after the other.
    """
    scalars = tuple(f"number.{name}" for name in numbers)
    if not _is_elementwise(made, scalars):
        return None
    plan = _Planning(made, scalars, joins=functions.joins).plan()
    shape = made.graph.types[PARAMETER].shape
    calls = [
        (getattr(functions, step.operator), step, (shape, number)) for number, step in enumerate(plan.steps)
    ]

    def update(of_step: Sequence[float], arrays: Sequence[Any]) -> None:
        values = [*map(float, of_step), *arrays]
        for function, step, key in calls:
            into = scratch.get(key) if step.into is None else values[step.into]
            result = function(*[values[at] for at in step.operands], into=into, **step.keywords)
            if step.into is None:
                scratch[key] = result
            values.append(result if into is None else into)
        for value, home in plan.copies:
            functions.copy(values[value], values[home])

    return update


def _is_elementwise(made: UpdateGraph, scalars: Collection[str]) -> bool:
    """Tell whether all operators are of a plan, on arrays of the parameter's shape and on numbers."""
    graph = made.graph
    arrays = {GRADIENT, PARAMETER, *map(_input, made.state)}
    if any(tensor.name not in arrays and tensor.name not in scalars for tensor in graph.inputs):
        return False  # a total, or one of several tensors that a parameter stands in
    shape = graph.types[PARAMETER].shape
    if any(graph.types[name].shape != shape for name in arrays):
        return False
    inputs = {tensor.name for tensor in graph.inputs}
    moved = [value for value, name in zip(graph.outputs, made.results) if value != _input(name)]
    apart = len({*moved}) == len(moved) and not inputs & {*moved}
    return apart and all(_is_planned(node, scalars) for node in graph.nodes)


def _is_planned(node: Node, scalars: Collection[str]) -> bool:
    given = [name in scalars for name in node.inputs]
    if any(given):
        return node.operator in WITH_NUMBERS and not all(given)
    return node.operator in OPERATORS


@dataclass(frozen=True)
class _Applied:
    """An operator as a plan has it."""

    operator: str
    inputs: tuple[str, ...]
    output: str
    keywords: Mapping[str, Any]


def _applied(node: Node) -> _Applied:
    return _Applied(node.operator, node.inputs, node.outputs[0], node.keywords)


def _joined(nodes: Sequence[Node], outputs: Sequence[str], scalars: Collection[str]) -> list[_Applied]:
    """Return the operators with each sum of an array and a scaled one, that nothing else reads, as one of them."""
    uses = Counter(name for node in nodes for name in node.inputs)
    alone = {
        node.outputs[0]: scaled
        for node in nodes
        if uses[node.outputs[0]] == 1
        and node.outputs[0] not in outputs
        and (scaled := _scaled(node, scalars)) is not None
    }
    joined, gone = [], set()
    for node in nodes:
        found = None if any(name in scalars for name in node.inputs) else _sum_of_scaled(node, alone)
        if found is not None:
            joined.append(found[0])
            gone.add(found[1])
        else:
            joined.append(_applied(node))
    return [applied for applied in joined if applied.output not in gone]


def _scaled(node: Node, scalars: Collection[str]) -> tuple[tuple[str, ...], float] | None:
    """Return what a node multiplies, with its number if it has one, and a constant factor; None if it does not."""
    if node.operator == "affine" and node.keywords["beta"] == 0.0:
        return node.inputs, float(node.keywords["alpha"])
    if node.operator == "mul" and any(name in scalars for name in node.inputs):
        number, array = sorted(node.inputs, key=lambda name: name not in scalars)
        return (array, number), 1.0
    return None


def _sum_of_scaled(
    node: Node, alone: Mapping[str, tuple[tuple[str, ...], float]]
) -> tuple[_Applied, str] | None:
    """Return the operator that a sum or a difference is together with a scaled operand, and that operand."""
    if node.operator not in ("add", "sub"):
        return None
    x, y = node.inputs
    if y not in alone and node.operator == "add":
        x, y = y, x
    if y not in alone or x == y:
        return None
    factors, alpha = alone[y]
    sign = -1.0 if node.operator == "sub" else 1.0
    return _Applied("plus_scaled", (x, *factors), node.outputs[0], {"alpha": sign * alpha}), y


class _Planning:
    """What is in which array while the operators follow each other; an array is known by its first value's place."""

    def __init__(self, made: UpdateGraph, scalars: Sequence[str], *, joins: bool) -> None:
        graph = made.graph
        self._applied = (
            _joined(graph.nodes, graph.outputs, scalars) if joins else [*map(_applied, graph.nodes)]
        )
        inputs = [tensor.name for tensor in graph.inputs if tensor.name not in scalars]
        self._places = {name: at for at, name in enumerate([*scalars, *inputs])}
        self._belongs = {
            value: self._places[_input(name)]
            for value, name in zip(graph.outputs, made.results)
            if value != _input(name)
        }
        self._kept = {*graph.outputs, GRADIENT}
        self._last = {name: at for at, applied in enumerate(self._applied) for name in applied.inputs}
        self._array = {name: self._places[name] for name in inputs}
        self._content = {self._places[name]: name for name in inputs}

    def plan(self) -> Plan:
        """Return the plan."""
        steps = tuple(self._step(at, applied) for at, applied in enumerate(self._applied))
        copies = [(self._places[v], home) for v, home in self._belongs.items() if self._array[v] != home]
        return Plan(steps, tuple(copies))

    def _step(self, at: int, applied: _Applied) -> Step:
        result = applied.output
        operands = tuple(self._places[name] for name in applied.inputs)
        into = next((array for array in self._candidates(applied) if self._is_free(array, at)), None)
        self._places[result] = len(self._places)
        array = self._places[result] if into is None else into
        self._array[result], self._content[array] = array, result
        return Step(applied.operator, operands, applied.keywords, into)

    def _candidates(self, applied: _Applied) -> Iterable[int]:
        """Yield arrays that the result may be put into, the best first: its own, those of the operands, all others."""
        home = self._belongs.get(applied.output)
        if home is not None:
            yield home
        homes = {*self._belongs.values()}
        for array in (*(self._array[name] for name in applied.inputs if name in self._array), *self._content):
            # In another's home a result would be overwritten before it is copied to its own.
            if home is None or array not in homes:
                yield array

    def _is_free(self, array: int, at: int) -> bool:
        """Tell whether nothing reads what is in an array after this node."""
        content = self._content[array]
        return content not in self._kept and self._last.get(content, at) <= at


def _input(result: str) -> str:
    """Return the name of the input whose array a result belongs into."""
    return result if result == PARAMETER else f"state.{result}"
