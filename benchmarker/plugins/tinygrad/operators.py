"""The native meaning of each operator: methods of tinygrad's tensors."""

from __future__ import annotations

from typing import Any

from benchmarker.errors import UnsupportedError
from benchmarker.graph.custom import NativeFunction, is_composed, registered
from benchmarker.graph.graph import Graph
from benchmarker.graph.operators import Tensor
from benchmarker.plugins.tinygrad.losses import LossOperators
from benchmarker.plugins.tinygrad.products import NormalizationOperators, ProductOperators
from benchmarker.plugins.tinygrad.shapes import ShapeOperators
from benchmarker.plugins.tinygrad.windows import WindowOperators


class TinygradOperators(
    WindowOperators, ProductOperators, NormalizationOperators, ShapeOperators, LossOperators
):
    """The vocabulary; see :class:`~benchmarker.plugins.tinygrad.elementwise.TinygradTensors`."""

    def custom(self, *xs: Tensor, name: str) -> Any:
        implementation = registered(name).implementation(self.framework)
        if isinstance(implementation, NativeFunction):
            return implementation.make()(*xs)
        return super().custom(*xs, name=name)


def require_no_arrays(graph: Graph) -> None:
    """Refuse users' operators that run on arrays, of which a recorded step has none.

    Raises
    ------
    UnsupportedError
        With the operator's name.
    """
    for node in graph.nodes:
        name = node.keywords["name"] if node.operator == "custom" else None
        if name is None or is_composed(node, TinygradOperators.framework):
            continue
        if not isinstance(registered(name).implementation(TinygradOperators.framework), NativeFunction):
            raise UnsupportedError(
                f"custom operator '{name}' runs on arrays, of which a step that tinygrad records has none; give it a "
                "function of tinygrad's tensors"
            )
