"""Pooling and resizing as MXNet symbols."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarker.graph.operators import Tensor
from benchmarker.graph.windows import AveragePooling, MaxPooling, Shape
from benchmarker.plugins.common.padding import window_counts
from benchmarker.plugins.mxnet.symbol_operators import SymbolOperators

MIN_FLOAT32 = -3.402823466e38
"""Padding of a maximum: the operator's attribute cannot be minus infinity."""


def _takes_pads(window: MaxPooling | AveragePooling) -> bool:
    """Whether MXNet's pooling takes these pads itself: symmetric, smaller than the window."""
    return window.is_symmetric and all(p < k for p, k in zip(window.begins, window.kernel_shape))


class PoolingOperators(SymbolOperators):
    """Pooling and resizing of ``(N, C, *spatial)``."""

    # --- pooling -----------------------------------------------------------------------------

    def max_pool(self, x: Tensor, *, window: MaxPooling) -> Tensor:
        shape = self._shape(x)
        rounded_down = replace(window, ceil_mode=False).output_sizes(shape) == window.output_sizes(shape)
        if rounded_down and _takes_pads(window):
            return self._pool(x, "max", window, window.begins)
        padded = self._pad_spatial(x, window.covering_pairs(shape), MIN_FLOAT32)
        return self._pool(padded, "max", window, (0,) * window.rank)

    def average_pool(self, x: Tensor, *, window: AveragePooling) -> Tensor:
        if _takes_pads(window):
            counted = window.count_include_pad
            return self._pool(x, "avg", window, window.begins, count_include_pad=counted)
        mean = self._pool(self._pad_spatial(x, window.pairs, 0.0), "avg", window, (0,) * window.rank)
        if window.counts_all:
            return mean
        shape = self._shape(x)
        share = np.moveaxis(window_counts(window, shape), -1, 1) / window.kernel_elements
        name = f"share{shape[2:]}{window.kernel_shape}{window.strides}{window.pads}"
        return self._mx.broadcast_div(mean, self._constant(name, share))

    def _pool(
        self, x: Tensor, kind: str, window: MaxPooling | AveragePooling, pad: Shape, **attributes: Any
    ) -> Tensor:
        return self._mx.Pooling(
            x,
            pool_type=kind,
            kernel=window.kernel_shape,
            stride=window.strides,
            pad=pad,
            pooling_convention="valid",
            **attributes,
        )

    def global_average_pool(self, x: Tensor) -> Tensor:
        rank = len(self._shape(x)) - 2
        return self._mx.Pooling(x, global_pool=True, pool_type="avg", kernel=(1,) * rank)

    # --- resizing ----------------------------------------------------------------------------

    def resize(self, x: Tensor, *, sizes: tuple[int, ...], mode: str = "nearest") -> Tensor:
        old = self._shape(x)[2:]
        if mode == "linear":
            for axis, (size, new) in enumerate(zip(old, sizes), start=2):
                x = self._middle(x, axis, size) if new == 1 < size else x
            height, width = sizes
            return self._mx.contrib.BilinearResize2D(x, height=height, width=width, align_corners=False)
        factors = [new // old for new, old in zip(sizes, old)]
        if factors[0] == factors[1]:
            return self._mx.UpSampling(x, scale=factors[0], sample_type="nearest")
        for axis, factor in enumerate(factors, start=2):
            x = self._mx.repeat(x, repeats=factor, axis=axis) if factor > 1 else x
        return x

    def _middle(self, x: Tensor, axis: int, size: int) -> Tensor:
        """Interpolate at the middle of an axis: for a single pixel the native operator takes the first."""
        middle = self._mx.slice_axis(x, axis=axis, begin=(size - 1) // 2, end=size // 2 + 1)
        return self._mx.mean(middle, axis=axis, keepdims=True)
