"""The forms in which inputs and parameters are best kept, decided from how the graph uses them."""

from __future__ import annotations

from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Node
from benchmarker.plugins.common.image_flow import ImageFlow
from benchmarker.plugins.jax.tensors import KERNEL, LAST, PLAIN, Form, transposed_filter_layout


def chosen_forms(graph: Graph, channels_last: bool) -> dict[str, Form]:
    """Return the form of each input and parameter.

    A filter takes the form of its convolution if that is all it is used for; what any use takes as an
    image stands as one.
    """
    flow = ImageFlow(graph)
    names = [i.name for i in graph.inputs] + [p.name for p in graph.parameters]
    return {name: _form(name, graph, flow, channels_last) for name in names}


def _form(name: str, graph: Graph, flow: ImageFlow, channels_last: bool) -> Form:
    wanted = {_filter_form(node, position, channels_last) for node, position in graph.uses(name)}
    if len(wanted) == 1 and wanted != {PLAIN}:
        return wanted.pop()
    return LAST if channels_last and flow.feeds_images(name) else PLAIN


def _filter_form(node: Node, position: int, channels_last: bool) -> Form:
    kernel = KERNEL if channels_last else PLAIN
    if position == 1 and node.operator == "conv":
        return kernel
    if position == 1 and node.operator == "conv_transpose":
        return transposed_filter_layout(node.keywords["window"].group, kernel)
    return PLAIN
