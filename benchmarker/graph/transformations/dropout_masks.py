"""Dropout with its mask given: the same function on every framework, for comparing what they compute."""

from __future__ import annotations

from dataclasses import replace

from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Distribution, Input, Node, TensorType


def with_given_masks(graph: Graph) -> Graph:
    """Return the graph with every dropout a product with an input of the mini-batch.

    The mask holds 0 with the dropout's ratio and else ``1 / (1 - ratio)``, so training computes what
    the framework's own dropout does with that mask.
    """
    nodes: list[Node] = []
    masks: list[Input] = []
    for node in graph.nodes:
        ratio = node.attributes.get("ratio", 0.5) if node.operator == "dropout" else 0.0
        if ratio == 0.0:
            nodes.append(node)
            continue
        type_ = TensorType(graph.types[node.inputs[0]].shape)
        kept = Distribution("constant", 1.0 / (1.0 - ratio), probability=1.0 - ratio)
        masks.append(Input(f"{node.name}.mask", type_, kept))
        nodes.append(Node(node.name, "mul", (node.inputs[0], masks[-1].name), node.outputs))
    return replace(
        graph,
        inputs=(*graph.inputs, *masks),
        nodes=tuple(nodes),
        types={**graph.types, **{mask.name: mask.type for mask in masks}},
    )
