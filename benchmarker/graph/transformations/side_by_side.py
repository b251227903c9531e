"""Graphs side by side in one: compiled once, and each computes what it would by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Node, TensorType


def prefix_of(position: int) -> str:
    """Return what the names of a graph begin with once it stands at a position among others."""
    return f"part{position}."


def side_by_side(graphs: Sequence[Graph]) -> Graph:
    """Return a graph with the inputs, parameters, nodes and outputs of all, each name with its graph's prefix.

    The loss is the sum of theirs, so that the gradients of each are its own.
    """
    parts = [_renamed(graph, prefix_of(position)) for position, graph in enumerate(graphs)]
    losses = [part.loss for part in parts if part.loss is not None]
    sums = _sums(losses)
    return Graph(
        name="side_by_side",
        inputs=tuple(input_ for part in parts for input_ in part.inputs),
        parameters=tuple(parameter for part in parts for parameter in part.parameters),
        nodes=(*(node for part in parts for node in part.nodes), *sums),
        outputs=tuple(output for part in parts for output in part.outputs),
        loss=sums[-1].outputs[0] if sums else next(iter(losses), None),
        types={
            **{name: type_ for part in parts for name, type_ in part.types.items()},
            **{name: TensorType(()) for node in sums for name in node.outputs},
        },
        upstream={output: input_ for part in parts for output, input_ in part.upstream.items()},
    )


def _renamed(graph: Graph, prefix: str) -> Graph:
    def name(value: str) -> str:
        return f"{prefix}{value}" if value else value  # an absent optional input has no name

    return replace(
        graph,
        inputs=tuple(replace(input_, name=name(input_.name)) for input_ in graph.inputs),
        parameters=tuple(replace(parameter, name=name(parameter.name)) for parameter in graph.parameters),
        nodes=tuple(
            replace(
                node,
                name=name(node.name),
                inputs=tuple(map(name, node.inputs)),
                outputs=tuple(map(name, node.outputs)),
            )
            for node in graph.nodes
        ),
        outputs=tuple(map(name, graph.outputs)),
        loss=None if graph.loss is None else name(graph.loss),
        types={name(value): type_ for value, type_ in graph.types.items()},
        upstream={name(output): name(input_) for output, input_ in graph.upstream.items()},
    )


def _sums(losses: Sequence[str]) -> list[Node]:
    """Return the additions whose last result is the sum of all."""
    nodes: list[Node] = []
    total = losses[0] if losses else ""
    for position, loss in enumerate(losses[1:]):
        nodes.append(Node(f"sum{position}", "add", (total, loss), (f"sum{position}",)))
        total = nodes[-1].outputs[0]
    return nodes
