"""Pooling and resizing in Chainer."""

from __future__ import annotations

import functools
import math

import numpy as np

from benchmarker.graph.windows import AveragePooling, MaxPooling, Shape
from benchmarker.plugins.chainer.binding_site import Native, Site
from benchmarker.plugins.chainer.shapes import spatial_padding
from benchmarker.plugins.common.padding import linear_interpolation, window_counts


def _window_count(size: int, kernel: int, stride: int, pad: int, cover_all: bool) -> int:
    """Return Chainer's number of windows over an axis padded by ``pad`` at both ends."""
    return (size + 2 * pad - kernel + (stride - 1 if cover_all else 0)) // stride + 1


def max_pool(site: Site, *, window: MaxPooling) -> Native:
    """``cover_all`` is ``ceil_mode`` but for a last window that starts in the end padding."""
    from chainer import functions

    x = site.shape(0)
    kernel, strides, begins = window.kernel_shape, window.strides, window.begins
    pool = functools.partial(functions.max_pooling_nd, ksize=kernel, stride=strides)
    count = functools.partial(_window_count, cover_all=window.ceil_mode)
    if window.is_symmetric and tuple(map(count, x[2:], kernel, strides, begins)) == window.output_sizes(x):
        return functools.partial(pool, pad=begins, cover_all=window.ceil_mode)
    # ONNX drops a last window that starts in the end padding, Chainer keeps it: pad to what ONNX covers.
    pad = spatial_padding(window.covering_pairs(x), -math.inf)
    return lambda x: pool(pad(x), pad=0, cover_all=False)


def average_pool(site: Site, *, window: AveragePooling) -> Native:
    """Chainer pads both ends of an axis alike; other pads go before. All are uncounted by a factor.

    Its own ``pad_value=None`` writes over the gradient that it is given, which others may hold too.
    """
    from chainer import functions

    pool = functools.partial(
        functions.average_pooling_nd,
        ksize=window.kernel_shape,
        stride=window.strides,
        pad=window.begins if window.is_symmetric else 0,
    )
    pad = None if window.is_symmetric else spatial_padding(window.pairs, 0.0)
    pooled: Native = pool if pad is None else lambda x: pool(pad(x))
    if window.counts_all:
        return pooled
    counts = np.moveaxis(window_counts(window, site.shape(0)), -1, 1)
    factor = site.constant(window.kernel_elements / counts)
    return lambda x: pooled(x) * factor


def global_average_pool(site: Site) -> Native:
    """A mean that keeps the axes."""
    from chainer import functions

    axes = tuple(range(2, len(site.shape(0))))
    return functools.partial(functions.mean, axis=axes, keepdims=True)


def resize(site: Site, *, sizes: Shape, mode: str = "nearest") -> Native:
    """``unpooling_2d`` repeats elements; ``resize_images`` interpolates, in single precision only."""
    from chainer import functions

    spatial = site.shape(0)[2:]
    if mode == "nearest":
        factors = tuple(new // old for new, old in zip(sizes, spatial))
        return functools.partial(functions.unpooling_2d, ksize=factors, cover_all=False)
    if site.dtype is np.float32:
        return functools.partial(functions.resize_images, output_shape=sizes, align_corners=False)
    rows, columns = (site.constant(linear_interpolation(old, new)) for old, new in zip(spatial, sizes))
    return lambda x: functions.matmul(functions.matmul(rows, x), columns, transb=True)
