"""Convolution, pooling and resizing as ONNX nodes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from benchmarker.graph.onnx.writer.nodes import NodeOperators
from benchmarker.graph.operators import Tensor
from benchmarker.graph.windows import AveragePooling, MaxPooling, TransposedWindow, Window


class WindowOperators(NodeOperators):
    """Windows that slide over images."""

    def conv(self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: Window) -> Tensor:
        return self._add("Conv", x, w, b, kernel_shape=self._shape(w)[2:], **asdict(window))

    def conv_transpose(
        self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: TransposedWindow
    ) -> Tensor:
        return self._add("ConvTranspose", x, w, b, kernel_shape=self._shape(w)[2:], **asdict(window))

    def max_pool(self, x: Tensor, *, window: MaxPooling) -> Tensor:
        return self._add("MaxPool", x, **{**asdict(window), "ceil_mode": int(window.ceil_mode)})

    def average_pool(self, x: Tensor, *, window: AveragePooling) -> Tensor:
        counted = int(window.count_include_pad)
        return self._add("AveragePool", x, **{**asdict(window), "count_include_pad": counted})

    def global_average_pool(self, x: Tensor) -> Tensor:
        return self._add("GlobalAveragePool", x)

    def resize(self, x: Tensor, *, sizes: tuple[int, ...], mode: str = "nearest") -> Tensor:
        return self._resized(x, sizes, mode, axes=(2, 3))

    def _resized(self, x: Tensor, sizes: tuple[int, ...], mode: str, axes: tuple[int, ...] = ()) -> Tensor:
        """Resize to ``sizes``: of the ``axes``, or of all if none are given."""
        nearest = mode == "nearest"
        named: dict[str, Any] = {"axes": axes} if axes else {}
        return self._add(
            "Resize",
            x,
            None,
            None,
            self._integers(sizes),
            **named,
            mode=mode,
            coordinate_transformation_mode="asymmetric" if nearest else "half_pixel",
            nearest_mode="floor",
        )
