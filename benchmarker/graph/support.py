"""What of a graph a framework can do: known from its class alone, before anything is imported or built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarker.errors import UnsupportedError
from benchmarker.graph.custom import Body, is_composed, registered
from benchmarker.graph.graph import Graph, apply_node
from benchmarker.graph.operators import OPERATORS, Operators, native_operators
from benchmarker.graph.shapes import Shapes
from benchmarker.graph.types import Node


class _Expansion(Shapes):
    """Notes which operators a node comes down to: those that are native, and primitives."""

    def __init__(self, native: frozenset[str]) -> None:
        super().__init__(training=True)
        self.native = native
        self.noted: set[str] = set()
        self._inside = 0


def _noting(operator: str) -> Callable[..., Any]:
    shape_of = getattr(Shapes, operator)

    def call(self: _Expansion, *inputs: Any, **attributes: Any) -> Any:
        ends_here = operator in self.native or OPERATORS[operator].kind == "primitive"
        if ends_here and not self._inside:
            self.noted.add(operator)
        self._inside += ends_here
        try:
            return shape_of(self, *inputs, **attributes)
        finally:
            self._inside -= ends_here

    return call


for _name in OPERATORS:
    setattr(_Expansion, _name, _noting(_name))


def _comes_down_to(node: Node, graph: Graph, native: frozenset[str], framework: str) -> set[str]:
    if is_composed(node, framework):
        name = node.attributes["name"]
        if not isinstance(registered(name).reference, Body):
            return {f"custom '{name}'"}
        native -= {"custom"}
    if node.operator not in OPERATORS or node.operator in native:
        return {node.operator}
    expansion = _Expansion(native)
    apply_node(node, expansion, [graph.types[name] if name else None for name in node.inputs])
    return expansion.noted


def missing_operators(graph: Graph, meaning: type[Operators]) -> dict[str, list[str]]:
    """Return each operator that ``graph`` needs and ``meaning`` lacks, with the nodes that need it.

    A composite that is not native needs what its body uses.
    """
    native = native_operators(meaning)
    missing: dict[str, list[str]] = {}
    for node in graph.nodes:
        for operator in sorted(_comes_down_to(node, graph, native, meaning.framework) - native):
            missing.setdefault(operator, []).append(node.name)
    return missing


def composed_operators(graph: Graph, meaning: type[Operators]) -> tuple[str, ...]:
    """Return the operators of ``graph`` that ``meaning`` runs as composites."""
    native = native_operators(meaning)
    composed = {o for o in graph.operators if o not in native and OPERATORS[o].kind == "composite"}
    if any(is_composed(node, meaning.framework) for node in graph.nodes):
        composed.add("custom")
    return tuple(sorted(composed))


def check_operators(graph: Graph, meaning: type[Operators], framework: str) -> None:
    """Refuse a graph with operators that ``meaning`` lacks, naming all of them at once.

    Raises
    ------
    UnsupportedError
        With every missing operator and the nodes that need it.
    """
    missing = missing_operators(graph, meaning)
    if missing:
        rows = "; ".join(f"{name} (nodes {', '.join(nodes[:3])})" for name, nodes in missing.items())
        raise UnsupportedError(
            f"framework '{framework}' has no {rows}: problem '{graph.name}' cannot run on it"
        )
