"""Pooling and resizing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarker.graph.windows import AveragePooling, MaxPooling, Pairs, Shape
from benchmarker.plugins.common.padding import window_counts
from benchmarker.plugins.keras import float64
from benchmarker.plugins.keras.binding_site import Site, surrounding
from benchmarker.plugins.keras.layouts import Native


def max_pool(site: Site, *, window: MaxPooling) -> Native:
    """``ops.max_pool``."""
    from keras import ops

    site.image()
    x = site.shape(0)
    return _pool(site, ops.max_pool, window, window.covering_pairs(x), -math.inf, named=window.is_same(x))


def average_pool(site: Site, *, window: AveragePooling) -> Native:
    """``ops.average_pool``, whose ``same`` does not count the padding."""
    from keras import ops

    site.image()
    x = site.shape(0)
    named = not window.counts_all and window.is_same(x)
    pooled = _pool(site, ops.average_pool, window, window.pairs, 0.0, named=named)
    if window.counts_all or named:
        return pooled
    counts = window_counts(window, x)
    counts = counts if site.setting.channels_last else np.moveaxis(counts, -1, 1)
    correction = (window.kernel_elements / counts).astype(site.setting.dtype)
    return lambda x: ops.multiply(pooled(x), correction)


def _pool(
    site: Site,
    function: Native,
    window: MaxPooling | AveragePooling,
    pairs: Pairs,
    border: float,
    *,
    named: bool,
) -> Native:
    """Return a pooling; its padding goes by name if it is ``named`` so."""
    kernel, strides = window.kernel_shape, window.strides
    surround = None if named else surrounding(site, pairs, border)
    padding = "same" if named else "valid"
    by_planes = None
    if site.setting.lacks_kernels and window.rank == 3:
        by_planes = float64.volume_pooling(function, kernel, strides, padding)

    def run(x: Any) -> Any:
        if surround is not None:
            x = surround(x)
        if by_planes is not None:
            return by_planes(x)
        return function(x, pool_size=kernel, strides=strides, padding=padding, data_format=site.data_format)

    return run


def global_average_pool(site: Site) -> Native:
    """``ops.mean``, as ``keras.layers.GlobalAveragePooling`` calls it."""
    from keras import ops

    site.image()
    axes = _spatial_axes(site)
    return lambda x: ops.mean(x, axis=axes, keepdims=True)


def _spatial_axes(site: Site) -> list[int]:
    first = 1 if site.setting.channels_last else 2
    return list(range(first, first + site.rank(0) - 2))


# --- resizing ------------------------------------------------------------------------------------


def resize(site: Site, *, sizes: Shape, mode: str = "nearest") -> Native:
    """``ops.repeat`` and ``ops.image.resize``, as ``keras.layers.UpSampling2D`` calls them."""
    from keras import ops

    site.image()
    if mode != "nearest" and site.setting.lacks_kernels:
        return float64.interpolation(site.shape(0)[2:], sizes)
    if mode != "nearest":
        return lambda x: ops.image.resize(
            x, sizes, interpolation="bilinear", antialias=False, data_format=site.data_format
        )
    factors = [new // old for new, old in zip(sizes, site.shape(0)[2:])]
    axes = _spatial_axes(site)

    def repeat(x: Any) -> Any:
        for axis, factor in zip(axes, factors):
            x = ops.repeat(x, factor, axis=axis)
        return x

    return repeat
