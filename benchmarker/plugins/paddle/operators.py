"""The native meaning of each operator: a call of Paddle's own function."""

from __future__ import annotations

from benchmarker.plugins.paddle.binding import with_same
from benchmarker.plugins.paddle.custom import CustomOperators
from benchmarker.plugins.paddle.elementwise import SAME, ElementwiseOperators
from benchmarker.plugins.paddle.losses import LossOperators
from benchmarker.plugins.paddle.products import ProductOperators
from benchmarker.plugins.paddle.shapes import ShapeOperators
from benchmarker.plugins.paddle.windows import WindowOperators


@with_same
class PaddleOperators(
    WindowOperators, ProductOperators, ElementwiseOperators, ShapeOperators, LossOperators, CustomOperators
):
    """The vocabulary; see :class:`~benchmarker.plugins.paddle.binding.PaddleFunctions`."""

    same = SAME
