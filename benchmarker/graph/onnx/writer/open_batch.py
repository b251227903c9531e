"""A graph whose mini-batch may be of any size: where the size stands in it, it is left open."""

from __future__ import annotations

from dataclasses import replace

from benchmarker.errors import UsageError
from benchmarker.graph.graph import Graph
from benchmarker.graph.onnx.writer.shaping import OPEN
from benchmarker.graph.types import Node


def open_batch(graph: Graph, larger: Graph) -> Graph:
    """Return ``graph`` with the size of its mini-batch left open in its shapes.

    Parameters
    ----------
    graph, larger : Graph
        The same problem for a mini-batch, and for one with one sample more: what differs depends on it.

    Raises
    ------
    UsageError
        If something depends on it that cannot be left open.
    """
    for one, other in zip(graph.parameters, larger.parameters):
        if one.type != other.type:
            raise UsageError(
                f"a mini-batch of any size needs parameters that do not depend on it, but '{one.name}' of "
                f"problem '{graph.name}' does; export a fixed --batch-size"
            )
    nodes = tuple(_opened(graph, larger, *pair) for pair in zip(graph.nodes, larger.nodes))
    return replace(graph, nodes=nodes)


def _opened(graph: Graph, larger: Graph, node: Node, other: Node) -> Node:
    if node == other:
        return node
    shape = _opened_shape(graph, larger, node)
    if shape is None or replace(other, attributes=node.attributes) != node:
        raise UsageError(
            f"a mini-batch of any size needs operators that do not depend on it, but '{node.name}' "
            f"({node.operator}) of problem '{graph.name}' does; export a fixed --batch-size"
        )
    return replace(node, attributes={**node.attributes, "shape": shape})


def _opened_shape(graph: Graph, larger: Graph, node: Node) -> tuple[int, ...] | None:
    """Return the shape without the size of the mini-batch, None where that cannot be said."""
    (name,) = node.outputs
    axes = open_axes(graph, larger, name)
    shape = graph.types[name].shape
    if (node.operator == "reshape" and len(axes) == 1) or (node.operator == "expand" and axes == (0,)):
        return tuple(OPEN if axis in axes else size for axis, size in enumerate(shape))
    return None


def open_axes(graph: Graph, larger: Graph, name: str) -> tuple[int, ...]:
    """Return the axes of a value that depend on the size of the mini-batch."""
    pair = zip(graph.types[name].shape, larger.types[name].shape)
    return tuple(axis for axis, sizes in enumerate(pair) if sizes[0] != sizes[1])
