"""Convolution, pooling and resizing in tinygrad: its functions for two spatial axes take any number of them."""

from __future__ import annotations

from benchmarker.errors import UnsupportedError
from benchmarker.graph.operators import Tensor
from benchmarker.graph.windows import AveragePooling, MaxPooling, Pairs, TransposedWindow, Window
from benchmarker.plugins.tinygrad.elementwise import TinygradTensors


def _padding(pairs: Pairs) -> tuple[int, ...]:
    """Return pads as tinygrad takes them, the last axis first."""
    return tuple(size for pair in reversed(pairs) for size in pair)


class WindowOperators(TinygradTensors):
    """Windows over ``(N, C, *spatial)``."""

    def conv(self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: Window) -> Tensor:
        return x.conv2d(w, b, window.group, window.strides, window.dilations, _padding(window.pairs))

    def conv_transpose(
        self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: TransposedWindow
    ) -> Tensor:
        padding = _padding(window.pairs)
        sizes = (window.strides, window.dilations, padding, window.output_padding)
        return x.conv_transpose2d(w, b, window.group, *sizes)

    def max_pool(self, x: Tensor, *, window: MaxPooling) -> Tensor:
        padding = _padding(window.covering_pairs(x.shape))
        return x.max_pool2d(window.kernel_shape, window.strides, 1, padding)

    def average_pool(self, x: Tensor, *, window: AveragePooling) -> Tensor:
        padding = _padding(window.pairs)
        counted = window.counts_all
        return x.avg_pool2d(window.kernel_shape, window.strides, padding=padding, count_include_pad=counted)

    def global_average_pool(self, x: Tensor) -> Tensor:
        return x.mean(tuple(range(2, x.ndim)), True)

    def resize(self, x: Tensor, *, sizes: tuple[int, ...], mode: str = "nearest") -> Tensor:
        if mode not in ("nearest", "linear"):
            raise UnsupportedError(f"resize knows the modes nearest and linear, not '{mode}'")
        return x.interpolate(sizes, mode)
