"""A graph with its composite operators expanded, so that they become part of the straight line."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from benchmarker.graph.custom import is_composed
from benchmarker.graph.graph import Graph
from benchmarker.graph.operators import Operators
from benchmarker.graph.recorder import Recorder, Value
from benchmarker.graph.types import Node, TensorType


class _Body(Recorder):
    """Records what a composite's body calls, each under the composite's own name."""

    def __init__(self, node: Node) -> None:
        super().__init__()
        self._node = node

    def _numbered(self, operator: str) -> str:
        return f"{self._node.name}/{super()._numbered(operator)}"


def expand_composites(graph: Graph, native: Collection[str], framework: str = "") -> Graph:
    """Return ``graph`` with each operator that is not ``native`` replaced by its body.

    Inputs, parameters and the order of the outputs stay; a composite's results get other names, under which
    their gradients are then known. So is a custom operator that has no implementation for ``framework``.
    """

    def stays(node: Node) -> bool:
        return node.operator in native and not is_composed(node, framework)

    while not all(map(stays, graph.nodes)):
        graph = _once(graph, stays)
    return graph


def _once(graph: Graph, stays: Callable[[Node], bool]) -> Graph:
    types, nodes = dict(graph.types), []
    renamed: dict[str, str] = {}
    for node in graph.nodes:
        node = replace(node, inputs=tuple(renamed.get(name, name) for name in node.inputs))
        if stays(node):
            nodes.append(node)
            continue
        body, results = _body(node, types)
        nodes.extend(body.nodes)
        types.update(body.types)
        renamed.update(zip(node.outputs, (result.name for result in results)))
    outputs = tuple(renamed.get(name, name) for name in graph.outputs)
    loss = None if graph.loss is None else renamed.get(graph.loss, graph.loss)
    upstream = {renamed.get(name, name): gradient for name, gradient in graph.upstream.items()}
    return replace(graph, nodes=tuple(nodes), types=types, outputs=outputs, loss=loss, upstream=upstream)


def _body(node: Node, types: dict[str, TensorType]) -> tuple[_Body, tuple[Value, ...]]:
    body = _Body(node)
    tensors = [Value(name, types[name]) if name else None for name in node.inputs]
    result = getattr(Operators, node.operator)(body, *tensors, **node.keywords)
    return body, result if isinstance(result, tuple) else (result,)
