"""Pooling and resizing in PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable

from benchmarker.errors import UnsupportedError
from benchmarker.graph.operators import Tensor
from benchmarker.graph.windows import AveragePooling, MaxPooling
from benchmarker.plugins.pytorch.tracing import TracedOperators, pad_argument


def _pools_natively(window: MaxPooling | AveragePooling) -> bool:
    """Whether PyTorch's pooling takes these pads itself: symmetric, at most half the window."""
    return window.is_symmetric and all(2 * p <= k for p, k in zip(window.begins, window.kernel_shape))


def _padded_max_pool(window: MaxPooling) -> Callable[[Tensor], Tensor]:
    """Return maximum pooling of an input that is first padded with minus infinity."""
    import torch

    pool = getattr(torch, f"max_pool{window.rank}d")
    kernel, strides = window.kernel_shape, window.strides
    fixed = None if window.ceil_mode else pad_argument(window.pairs)

    def padded_max_pool(x: Tensor) -> Tensor:
        padding = pad_argument(window.covering_pairs(x.shape)) if fixed is None else fixed
        return pool(torch.nn.functional.pad(x, padding, value=-math.inf), kernel, strides)

    return padded_max_pool


def _padded_average_pool(window: AveragePooling) -> Callable[[Tensor], Tensor]:
    """Return mean pooling of an input that is first padded with zeros, which count only if asked for."""
    import torch

    functional = torch.nn.functional
    pool = getattr(functional, f"avg_pool{window.rank}d")
    kernel, strides, padding = window.kernel_shape, window.strides, pad_argument(window.pairs)
    counts_all = window.counts_all

    def padded_average_pool(x: Tensor) -> Tensor:
        mean = pool(functional.pad(x, padding), kernel, strides)
        if counts_all:
            return mean
        ones = functional.pad(x.new_ones((1, 1, *x.shape[2:])), padding)
        return mean / pool(ones, kernel, strides)

    return padded_average_pool


def spatial_mean(x: Tensor) -> Tensor:
    """Mean over all axes after the first two, which stay with size 1."""
    return x.mean(tuple(range(2, x.dim())), keepdim=True)


class PoolingOperators(TracedOperators):
    """Pooling and resizing of ``(N, C, *spatial)``."""

    def max_pool(self, x: Tensor, *, window: MaxPooling) -> Tensor:
        function = self._by_rank(self._torch, "max_pool", window.rank)
        if not _pools_natively(window):
            return self._call(_padded_max_pool(window), x)
        kernel, strides = window.kernel_shape, window.strides
        return function(x, kernel, strides, window.begins, window.dilations, window.ceil_mode)

    def average_pool(self, x: Tensor, *, window: AveragePooling) -> Tensor:
        function = self._by_rank(self._functional, "avg_pool", window.rank)
        if not _pools_natively(window):
            return self._call(_padded_average_pool(window), x)
        kernel, strides, counted = window.kernel_shape, window.strides, window.count_include_pad
        return function(x, kernel, strides, window.begins, False, counted)

    def global_average_pool(self, x: Tensor) -> Tensor:
        return self._call(spatial_mean, x)

    def resize(self, x: Tensor, *, sizes: tuple[int, ...], mode: str = "nearest") -> Tensor:
        # PyTorch's 'nearest' is asymmetric with floor, its 'bilinear' half_pixel.
        modes = {"nearest": "nearest", "linear": "bilinear"}
        if mode not in modes:
            raise UnsupportedError(f"resize knows the modes {', '.join(modes)}, not '{mode}'")
        return self._functional.interpolate(x, sizes, mode=modes[mode])
