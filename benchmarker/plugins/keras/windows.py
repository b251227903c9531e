"""Windows that slide over images: convolution, pooling, resizing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarker.plugins.keras import doubles
from benchmarker.plugins.keras.site import Site
from benchmarker.plugins.keras.standing import Native, kernel_order
from benchmarker.windows import Pairs, ceil_pairs, explicit_pairs, same_pairs, window_counts

Sizes = tuple[int, ...]


def conv(
    site: Site,
    *,
    strides: Sizes,
    pads: Sizes,
    dilations: Sizes,
    group: int = 1,
) -> Native:
    """``ops.conv``; Keras knows padding by name, so any other surrounds the image first."""
    from keras import ops

    site.image()
    site.take(1, kernel_order(site.rank(1)))
    pairs = explicit_pairs(pads)
    # TensorFlow has no convolution with both; every other pixel is left out of the dense result.
    both = site.setting.backend == "tensorflow" and max(strides) > 1 and max(dilations) > 1
    thin = tuple(slice(None, None, stride) for stride in strides) if both else None
    step = (1,) * len(strides) if both else strides
    same = any(pads) and pairs == same_pairs(site.shape(0)[2:], site.shape(1)[2:], strides, dilations)
    named = same and not both
    surround = None if named else _surrounding(site, pairs, 0.0)
    padding = "same" if named else "valid"
    shift = _bias(site)

    def run(x: Any, w: Any, b: Any = None) -> Any:
        if surround is not None:
            x = surround(x)
        y = ops.conv(
            x, w, strides=step, padding=padding, data_format=site.data_format, dilation_rate=dilations
        )
        if thin is not None:
            y = y[(slice(None), *thin)]
        return y if b is None else shift(y, b)

    return run


def _surrounding(site: Site, pairs: Pairs, value: float) -> Native | None:
    """Return what surrounds an image with ``value``, None where nothing is to be added."""
    from keras import ops

    if not any(map(any, pairs)):
        return None
    whole = [(0, 0), *pairs, (0, 0)] if site.setting.channels_last else [(0, 0), (0, 0), *pairs]
    return lambda x: ops.pad(x, whole, constant_values=value)


def _bias(site: Site) -> Native:
    """Return the sum of an image and a bias, which ``keras.layers.Conv`` shapes at each call too."""
    from keras import ops

    if site.setting.channels_last:
        return ops.add  # type: ignore[no-any-return]
    shape = (1, -1, *(1,) * (site.rank(0) - 2))
    return lambda y, b: ops.add(y, ops.reshape(b, shape))


# --- transposed ----------------------------------------------------------------------------------


def conv_transpose(
    site: Site,
    *,
    strides: Sizes,
    pads: Sizes,
    output_padding: Sizes,
    dilations: Sizes,
    group: int = 1,
) -> Native:
    """``ops.conv_transpose``; any padding but ``same`` is cut off its whole result."""
    from keras import ops

    order = site.image()
    site.take(1, kernel_order(site.rank(1)))
    reach = [(k - 1) * d + 1 for k, d in zip(site.shape(1)[2:], dilations)]
    pairs = explicit_pairs(pads)
    exact = [((r - s) // 2, (r - s) // 2) for r, s in zip(reach, strides)]
    even = all(r >= s and (r - s) % 2 == 0 for r, s in zip(reach, strides))
    same = any(pads) and even and pairs == exact and not any(output_padding)
    cut = None if same else _cutting(site, pairs, reach, strides, output_padding)
    shift, channels = _bias(site), site.axis(1, order)
    apart = site.setting.lacks_kernels and max(dilations) > 1
    settings = {
        "strides": strides,
        "padding": "same" if same else "valid",
        "output_padding": None if same else (0,) * len(strides),
        "data_format": site.data_format,
        "dilation_rate": (1,) * len(strides) if apart else dilations,
    }

    def one(x: Any, w: Any) -> Any:
        w = doubles.dilated(w, dilations) if apart else w
        y = ops.conv_transpose(x, w, **settings)
        return y if cut is None else cut(y)

    def run(x: Any, w: Any, b: Any = None) -> Any:
        if group == 1:
            y = one(x, w)
        else:
            parts = zip(ops.split(x, group, axis=channels), ops.split(w, group, axis=-1))
            y = ops.concatenate([one(*part) for part in parts], axis=channels)
        return y if b is None else shift(y, b)

    return run


def _cutting(
    site: Site, pairs: Pairs, reach: Sequence[int], strides: Sizes, output_padding: Sizes
) -> Native | None:
    """Return what brings the whole transposed convolution to its size: more zeros, then less border."""
    more = _surrounding(site, [(0, extra) for extra in output_padding], 0.0)
    if more is None and not any(map(any, pairs)):
        return None
    sizes = [
        s * (size - 1) + r + extra
        for s, size, r, extra in zip(strides, site.shape(0)[2:], reach, output_padding)
    ]
    inside = [slice(begin, size - end) for size, (begin, end) in zip(sizes, pairs)]
    front = [slice(None)] if site.setting.channels_last else [slice(None)] * 2
    place = (*front, *inside)

    def cut(y: Any) -> Any:
        return (y if more is None else more(y))[place]

    return cut


# --- pooling -------------------------------------------------------------------------------------


def max_pool(
    site: Site, *, kernel_shape: Sizes, strides: Sizes, pads: Sizes, ceil_mode: bool = False
) -> Native:
    """``ops.max_pool``."""
    from keras import ops

    site.image()
    sizes = site.shape(0)[2:]
    pairs = ceil_pairs(sizes, kernel_shape, strides, pads) if ceil_mode else explicit_pairs(pads)
    return _pool(site, ops.max_pool, pairs, kernel_shape, strides, -math.inf)


def average_pool(
    site: Site, *, kernel_shape: Sizes, strides: Sizes, pads: Sizes, count_include_pad: bool = False
) -> Native:
    """``ops.average_pool``, whose ``same`` does not count the padding."""
    from keras import ops

    site.image()
    sizes, pairs = site.shape(0)[2:], explicit_pairs(pads)
    if count_include_pad or not any(pads):
        return _pool(site, ops.average_pool, pairs, kernel_shape, strides, 0.0, named=not any(pads))
    if pairs == same_pairs(sizes, kernel_shape, strides, (1,) * len(sizes)):
        return _pool(site, ops.average_pool, pairs, kernel_shape, strides, 0.0)
    counts = window_counts(sizes, kernel_shape, strides, pairs)
    counts = counts if site.setting.channels_last else np.moveaxis(counts, -1, 1)
    correction = (math.prod(kernel_shape) / counts).astype(site.setting.dtype)
    pooled = _pool(site, ops.average_pool, pairs, kernel_shape, strides, 0.0, named=False)
    return lambda x: ops.multiply(pooled(x), correction)


def _pool(
    site: Site,
    function: Native,
    pairs: Pairs,
    kernel: Sizes,
    strides: Sizes,
    border: float,
    *,
    named: bool = True,
) -> Native:
    """Return a pooling; its padding goes by name if it has one and ``named`` allows it."""
    wanted = any(map(any, pairs))
    same = named and wanted and pairs == same_pairs(site.shape(0)[2:], kernel, strides, (1,) * len(kernel))
    surround = None if same else _surrounding(site, pairs, border)
    padding = "same" if same else "valid"
    by_planes = None
    if site.setting.lacks_kernels and len(kernel) == 3:
        by_planes = doubles.volume_pooling(function, kernel, strides, padding)

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


def resize(site: Site, *, sizes: Sizes, mode: str = "nearest") -> Native:
    """``ops.repeat`` and ``ops.image.resize``, as ``keras.layers.UpSampling2D`` calls them."""
    from keras import ops

    site.image()
    if mode != "nearest" and site.setting.lacks_kernels:
        return doubles.interpolation(site.shape(0)[2:], sizes)
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
