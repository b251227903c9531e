"""A graph with its composite operators written out, so that they become part of the straight line."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

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


def written_out(graph: Graph, native: Collection[str]) -> Graph:
    """Return ``graph`` with each operator that is not ``native`` replaced by its body.

    Inputs, parameters and the order of the outputs stay; a composite's result gets another name.
    """
    while not graph.operators <= set(native):
        graph = _once(graph, native)
    return graph


def _once(graph: Graph, native: Collection[str]) -> Graph:
    types, nodes = dict(graph.types), []
    renamed: dict[str, str] = {}
    for node in graph.nodes:
        node = replace(node, inputs=tuple(renamed.get(name, name) for name in node.inputs))
        if node.operator in native:
            nodes.append(node)
            continue
        body, result = _body(node, types)
        nodes.extend(body.nodes)
        types.update(body.types)
        renamed[node.outputs[0]] = result.name
    outputs = tuple(renamed.get(name, name) for name in graph.outputs)
    loss = None if graph.loss is None else renamed.get(graph.loss, graph.loss)
    return replace(graph, nodes=tuple(nodes), types=types, outputs=outputs, loss=loss)


def _body(node: Node, types: dict[str, TensorType]) -> tuple[_Body, Value]:
    body = _Body(node)
    tensors = [Value(name, types[name]) if name else None for name in node.inputs]
    result: Value = getattr(Operators, node.operator)(body, *tensors, **node.attributes)
    return body, result
