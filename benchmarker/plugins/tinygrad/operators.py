"""The native meaning of each operator: methods of tinygrad's tensors."""

from __future__ import annotations

from typing import Any

from benchmarker.errors import UnsupportedError
from benchmarker.graph.custom import NativeFunction, registered
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
        operator = registered(name)
        implementation = operator.implementation(self.framework)
        if implementation is None:
            return super().custom(*xs, name=name)
        if isinstance(implementation, NativeFunction):
            return implementation.make()(*xs)
        raise UnsupportedError(
            f"custom operator '{name}' runs on arrays, which a step that tinygrad compiles has none of; "
            "give it a function of tinygrad's tensors, or a body"
        )
