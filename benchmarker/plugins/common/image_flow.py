"""Which values of a graph stand channels last where a framework has its images so."""

from __future__ import annotations

from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Node

_SPATIAL = frozenset(
    {
        "average_pool",
        "conv",
        "conv_transpose",
        "global_average_pool",
        "group_normalization",
        "max_pool",
        "resize",
    }
)
"""Operators that take ``N C spatial...`` and return it, as images stand."""

_KEEPING = frozenset(
    {
        "abs",
        "add",
        "affine",
        "batch_normalization",
        "clip",
        "concat",
        "dropout",
        "gelu",
        "leaky_relu",
        "mul",
        "pad",
        "relu",
        "sigmoid",
        "silu",
        "slice",
        "softplus",
        "sub",
        "tanh",
    }
)
"""Operators whose result stands as their first operand does."""


class ImageFlow:
    """Where images go in a graph: from operators that return them, and back from those that take them.

    Parameters
    ----------
    graph : Graph
        Any; values of up to two axes are no images.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._maker = {name: node for node in graph.nodes for name in node.outputs}
        self._feeding: dict[str, bool] = {}

    def maker(self, name: str) -> Node | None:
        """Return the node that makes a value, None of inputs and parameters."""
        return self._maker.get(name)

    def rank(self, name: str) -> int:
        """Return the number of axes of a value."""
        return len(self._graph.types[name].shape)

    def is_image(self, name: str) -> bool:
        """Tell whether a value stands as images do: one made by an operator on images, or fed to one."""
        node = self._maker.get(name)
        if node is None:
            return self.feeds_images(name)
        return node.operator in _SPATIAL or (node.operator in _KEEPING and self.is_image(node.inputs[0]))

    def feeds_images(self, name: str) -> bool:
        """Tell whether an input or parameter goes where images are taken."""
        if name not in self._feeding:
            users = [node for node, position in self._graph.uses(name) if position == 0]
            self._feeding[name] = self.rank(name) > 2 and any(map(self._takes_images, users))
        return self._feeding[name]

    def _takes_images(self, node: Node) -> bool:
        if node.operator in _SPATIAL or node.operator == "batch_normalization":
            return True
        return node.operator in _KEEPING and any(map(self.feeds_images, node.outputs))
