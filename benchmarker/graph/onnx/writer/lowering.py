"""A graph as a list of ONNX nodes: what each is called, and which node of the graph it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchmarker.graph.graph import Graph, apply_node
from benchmarker.graph.names import numbered_name
from benchmarker.graph.onnx.writer.nodes import OnnxNode
from benchmarker.graph.onnx.writer.operators import OnnxOperators
from benchmarker.graph.types import Node
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Lowered:
    """The nodes of a model.

    Parameters
    ----------
    nodes : tuple of OnnxNode
        In topological order, each with a name of its own: that of the graph's node if it makes its result,
        else that and the operator's, as in ``norm/Reshape``.
    constants : mapping
        Arrays by name, besides the parameters.
    origins : mapping
        Name of each ONNX node to that of the graph's node.
    """

    nodes: tuple[OnnxNode, ...]
    constants: Mapping[str, Array]
    origins: Mapping[str, str]


def lower(
    graph: Graph,
    *,
    dtype: str = "float32",
    open_batch: bool = False,
    operators: type[OnnxOperators] = OnnxOperators,
) -> Lowered:
    """Return the nodes that compute the outputs of ``graph``.

    Parameters
    ----------
    graph : Graph
        Whose operators ONNX has; see :func:`~benchmarker.graph.support.check_operators`.
    dtype : str
        Type of the floating-point tensors.
    open_batch : bool
        Whether the size of the mini-batch is only known when the model runs.
    operators : type
        The nodes of each operator, where an engine wants others than everybody.
    """
    batch = graph.inputs[0].name if open_batch else None
    return _Lowering(graph, operators(graph.types, dtype=dtype, batch=batch)).lowered()


class _Lowering:
    def __init__(self, graph: Graph, operators: OnnxOperators) -> None:
        self._graph = graph
        self._operators = operators
        # Operators that do nothing give a value of the graph another one's place.
        self._names = {name: name for name in graph.types}
        self._taken = {node.name for node in graph.nodes}
        self._origins: dict[str, str] = {}

    def lowered(self) -> Lowered:
        for node in self._graph.nodes:
            self._apply(node)
        for name in self._graph.outputs:
            if self._names[name] != name:
                self._append_identity(name)
        return Lowered(tuple(self._operators.nodes), self._operators.constants, self._origins)

    def _apply(self, node: Node) -> None:
        nodes = self._operators.nodes
        first = len(nodes)
        inputs = [self._names[name] if name else None for name in node.inputs]
        results = apply_node(node, self._operators, inputs)
        added = nodes[first:]
        made = {name: one for one in added for name in one.outputs}
        for result, wanted in zip(results, node.outputs):
            if result not in made:
                self._names[wanted] = result
                continue
            outputs = made[result].outputs
            outputs[outputs.index(result)] = wanted
        self._name(node, added)

    def _name(self, node: Node, added: list[OnnxNode]) -> None:
        for one in added:
            result = set(one.outputs) & set(node.outputs)
            one.name = node.name if result else numbered_name(f"{node.name}/{one.kind}", self._taken)
            self._origins[one.name] = node.name

    def _append_identity(self, name: str) -> None:
        (node,) = (node for node in self._graph.nodes if name in node.outputs)
        identity = OnnxNode("Identity", [self._names[name]], [name], {}, node.name)
        self._operators.nodes.append(identity)
        self._origins[identity.name] = node.name
