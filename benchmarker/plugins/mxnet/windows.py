"""Convolution, pooling and resizing as MXNet symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.operators import Tensor
from benchmarker.graph.shapes import Shapes
from benchmarker.graph.types import TensorType
from benchmarker.graph.window_shapes import halves
from benchmarker.plugins.mxnet.symbols import SymbolOperators

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

LOWEST = -3.402823466e38
"""Padding of a maximum: the operator's attribute cannot be minus infinity."""


def _share_inside(
    sizes: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
) -> Array:
    """Return for each window the share of its elements that are not padding."""
    share = np.ones((1,) * len(sizes))
    for axis, (size, window, stride) in enumerate(zip(sizes, kernel, strides)):
        begin, end = pads[axis], pads[len(sizes) + axis]
        first = np.arange(0, size + begin + end - window + 1, stride) - begin
        inside = np.minimum(first + window, size) - np.maximum(first, 0)
        share = share * (inside / window).reshape([-1 if a == axis else 1 for a in range(len(sizes))])
    return share


class WindowOperators(SymbolOperators):
    """Operators that slide a window over the spatial axes, and resizing."""

    def _pad_spatial(self, x: Tensor, pads: tuple[int, ...], value: float) -> Tensor:
        """Pad the spatial axes; the native operator knows 4 and 5 axes only."""
        begins, ends = halves(pads)
        width = [size for pair in zip(begins, ends) for size in pair]
        line = len(begins) == 1
        x = self._mx.expand_dims(x, axis=2) if line else x
        leading = (0,) * (6 if line else 4)
        x = self._mx.pad(x, mode="constant", constant_value=value, pad_width=(*leading, *width))
        return self._mx.squeeze(x, axis=2) if line else x

    # --- convolution -------------------------------------------------------------------------

    def conv(
        self,
        x: Tensor,
        w: Tensor,
        b: Tensor | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> Tensor:
        filters, _, *kernel = self._shape(w)
        begins, ends = halves(pads)
        if begins != ends:
            x, begins = self._pad_spatial(x, pads, 0.0), (0,) * len(begins)
        return self._mx.Convolution(
            *(x, w) if b is None else (x, w, b),
            kernel=tuple(kernel),
            stride=strides,
            dilate=dilations,
            pad=begins,
            num_filter=filters,
            num_group=group,
            no_bias=b is None,
        )

    def conv_transpose(
        self,
        x: Tensor,
        w: Tensor,
        b: Tensor | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        output_padding: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> Tensor:
        _, filters, *kernel = self._shape(w)
        begins, ends = halves(pads)
        both = tuple(min(pair) for pair in zip(begins, ends))
        y = self._mx.Deconvolution(
            *(x, w) if b is None else (x, w, b),
            kernel=tuple(kernel),
            stride=strides,
            dilate=dilations,
            pad=both,
            adj=output_padding,
            num_filter=filters * group,
            num_group=group,
            no_bias=b is None,
        )
        for axis, (begin, end, cut) in enumerate(zip(begins, ends, both), start=2):
            if begin != end:
                y = self._mx.slice_axis(y, axis=axis, begin=begin - cut, end=(cut - end) or None)
        return y

    # --- pooling -----------------------------------------------------------------------------

    def max_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        ceil_mode: bool = False,
    ) -> Tensor:
        begins, ends = halves(pads)
        covered = self._covering(x, kernel_shape, strides, pads, ceil_mode)
        if begins != ends or covered != ends or any(p >= k for p, k in zip(begins, kernel_shape)):
            x, begins = self._pad_spatial(x, (*begins, *covered), LOWEST), (0,) * len(begins)
        return self._pool(x, "max", kernel_shape, strides, begins)

    def _covering(
        self,
        x: Tensor,
        kernel: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        ceil_mode: bool,
    ) -> tuple[int, ...]:
        """Return the pads at the ends with which windows rounded down are those of ``ceil_mode``."""
        begins, ends = halves(pads)
        if not ceil_mode:
            return ends
        shape = self._shape(x)
        windows = Shapes().max_pool(
            TensorType(shape), kernel_shape=kernel, strides=strides, pads=pads, ceil_mode=True
        )
        axes = zip(shape[2:], windows.shape[2:], kernel, strides, begins, ends)
        return tuple(max(e, (o - 1) * s + k - i - b) for i, o, k, s, b, e in axes)

    def _pool(
        self,
        x: Tensor,
        kind: str,
        kernel: tuple[int, ...],
        strides: tuple[int, ...],
        pad: tuple[int, ...],
        **attributes: Any,
    ) -> Tensor:
        return self._mx.Pooling(
            x,
            pool_type=kind,
            kernel=kernel,
            stride=strides,
            pad=pad,
            pooling_convention="valid",
            **attributes,
        )

    def average_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        count_include_pad: bool = False,
    ) -> Tensor:
        begins, ends = halves(pads)
        if begins == ends and all(p < k for p, k in zip(begins, kernel_shape)):
            return self._pool(x, "avg", kernel_shape, strides, begins, count_include_pad=count_include_pad)
        nothing = (0,) * len(begins)
        mean = self._pool(self._pad_spatial(x, pads, 0.0), "avg", kernel_shape, strides, nothing)
        if count_include_pad:
            return mean
        sizes = self._shape(x)[2:]
        share = _share_inside(sizes, kernel_shape, strides, pads)[None, None]
        name = f"share{sizes}{kernel_shape}{strides}{pads}"
        return self._mx.broadcast_div(mean, self._constant(name, share))

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
