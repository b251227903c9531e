"""The forms in which inputs and parameters are best kept, decided from how the graph uses them."""

from __future__ import annotations

from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Node
from benchmarker.plugins.jax.tensors import KERNEL, LAST, PLAIN, Form, spread

_SPATIAL = frozenset(
    {
        "average_pool",
        "batch_normalization",
        "conv",
        "conv_transpose",
        "group_normalization",
        "max_pool",
    }
)
"""Operators that take images, whose channels they want last."""

_KEEPING = frozenset(
    {
        "abs",
        "add",
        "affine",
        "clip",
        "concat",
        "dropout",
        "gelu",
        "global_average_pool",
        "leaky_relu",
        "mul",
        "pad",
        "relu",
        "resize",
        "sigmoid",
        "silu",
        "slice",
        "softplus",
        "sub",
        "tanh",
    }
)
"""Operators whose result stands as their first operand does."""


def chosen_forms(graph: Graph, channels_last: bool) -> dict[str, Form]:
    """Return the form of each input and parameter.

    A filter takes the form of its convolution if that is all it is used for; what any use takes as an
    image stands as one.
    """
    uses = _Uses(graph, channels_last)
    names = [i.name for i in graph.inputs] + [p.name for p in graph.parameters]
    return {name: uses.form(name) for name in names}


class _Uses:
    """What stands where in a graph."""

    def __init__(self, graph: Graph, channels_last: bool) -> None:
        self._graph = graph
        self._channels_last = channels_last
        self._images: dict[str, bool] = {}

    def form(self, name: str) -> Form:
        """Return the form of an input or parameter."""
        wanted = {self._filter(node, position) for node, position in self._graph.uses(name)}
        if len(wanted) == 1 and wanted != {PLAIN}:
            return wanted.pop()
        return LAST if self._channels_last and self._is_image(name) else PLAIN

    def _filter(self, node: Node, position: int) -> Form:
        kernel = KERNEL if self._channels_last else PLAIN
        if position == 1 and node.operator == "conv":
            return kernel
        if position == 1 and node.operator == "conv_transpose":
            return spread(node.attributes["group"], kernel)
        return PLAIN

    def _is_image(self, name: str) -> bool:
        if name not in self._images:
            users = [node for node, position in self._graph.uses(name) if position == 0]
            rank = len(self._graph.types[name].shape)
            self._images[name] = rank > 2 and any(map(self._takes_images, users))
        return self._images[name]

    def _takes_images(self, node: Node) -> bool:
        if node.operator in _SPATIAL:
            return True
        return node.operator in _KEEPING and any(map(self._is_image, node.outputs))
