"""Convolution, pooling and resizing in PyTorch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarker.errors import UnsupportedError
from benchmarker.graph.operators import Tensor
from benchmarker.graph.window_shapes import halves
from benchmarker.plugins.pytorch.tracing import TracedOperators, pad_argument


def _pools_natively(kernel: Sequence[int], pads: Sequence[int]) -> bool:
    """Whether PyTorch's pooling takes these pads itself: symmetric, at most half the window."""
    begins, ends = halves(pads)
    return begins == ends and all(2 * pad <= size for pad, size in zip(begins, kernel))


def padded_max_pool(
    x: Tensor, kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int], ceil_mode: bool
) -> Tensor:
    """Maximum pooling of an input that is first padded with minus infinity."""
    import torch

    begins, ends = list(pads[: len(kernel)]), list(pads[len(kernel) :])
    for axis, (size, stride) in enumerate(zip(kernel, strides)):
        if not ceil_mode:
            continue
        extent = x.shape[2 + axis] + begins[axis]
        windows = math.ceil((extent + ends[axis] - size) / stride) + 1
        if (windows - 1) * stride >= extent:
            windows -= 1
        ends[axis] = (windows - 1) * stride + size - extent
    padded = torch.nn.functional.pad(x, pad_argument(begins, ends), value=-math.inf)
    return getattr(torch, f"max_pool{len(kernel)}d")(padded, kernel, strides)


def padded_average_pool(
    x: Tensor,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    count_include_pad: bool,
) -> Tensor:
    """Mean pooling of an input that is first padded with zeros, which count only if asked for."""
    import torch

    functional = torch.nn.functional
    pool = getattr(functional, f"avg_pool{len(kernel)}d")
    padding = pad_argument(*halves(pads))
    mean = pool(functional.pad(x, padding), kernel, strides)
    if count_include_pad:
        return mean
    ones = functional.pad(x.new_ones((1, 1, *x.shape[2:])), padding)
    return mean / pool(ones, kernel, strides)


def spatial_mean(x: Tensor) -> Tensor:
    """Mean over all axes after the first two, which stay with size 1."""
    return x.mean(tuple(range(2, x.dim())), keepdim=True)


class WindowOperators(TracedOperators):
    """Operators on ``(N, C, *spatial)``."""

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
        function = self._by_rank(self._torch, "conv", len(strides))
        begins, ends = halves(pads)
        if begins != ends:
            x = self._functional.pad(x, pad_argument(begins, ends))
            begins = (0,) * len(strides)
        return function(x, w, b, strides, begins, dilations, group)

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
        function = self._by_rank(self._torch, "conv_transpose", len(strides))
        begins, ends = halves(pads)
        padding = tuple(map(min, begins, ends))
        # Groups come before dilations here, and after them in a convolution.
        y = function(x, w, b, strides, padding, output_padding, group, dilations)
        if begins == ends:
            return y
        cut = tuple(
            slice(begin - pad or None, pad - end or None) for begin, end, pad in zip(begins, ends, padding)
        )
        return y[(slice(None), slice(None), *cut)]

    def max_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        ceil_mode: bool = False,
    ) -> Tensor:
        rank = len(kernel_shape)
        function = self._by_rank(self._torch, "max_pool", rank)
        if not _pools_natively(kernel_shape, pads):
            return self._call(padded_max_pool, x, kernel_shape, strides, pads, ceil_mode)
        return function(x, kernel_shape, strides, pads[:rank], (1,) * rank, ceil_mode)

    def average_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        count_include_pad: bool = False,
    ) -> Tensor:
        rank = len(kernel_shape)
        function = self._by_rank(self._functional, "avg_pool", rank)
        if not _pools_natively(kernel_shape, pads):
            return self._call(padded_average_pool, x, kernel_shape, strides, pads, count_include_pad)
        return function(x, kernel_shape, strides, pads[:rank], False, count_include_pad)

    def global_average_pool(self, x: Tensor) -> Tensor:
        return self._call(spatial_mean, x)

    def resize(self, x: Tensor, *, sizes: tuple[int, ...], mode: str = "nearest") -> Tensor:
        # PyTorch's 'nearest' is asymmetric with floor, its 'bilinear' half_pixel.
        modes = {"nearest": "nearest", "linear": "bilinear"}
        if mode not in modes:
            raise UnsupportedError(f"resize knows the modes {', '.join(modes)}, not '{mode}'")
        return self._functional.interpolate(x, sizes, mode=modes[mode])
