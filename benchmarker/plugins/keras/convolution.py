"""Convolution and its transpose."""

from __future__ import annotations

from typing import Any

from benchmarker.graph.windows import TransposedWindow, Window
from benchmarker.plugins.common.axis_orders import filter_order
from benchmarker.plugins.keras import float64
from benchmarker.plugins.keras.binding_site import Site, surrounding
from benchmarker.plugins.keras.layouts import Native


def conv(site: Site, *, window: Window) -> Native:
    """``ops.conv``; Keras knows padding by name, so any other surrounds the image first."""
    from keras import ops

    site.image()
    site.take(1, filter_order(site.rank(1)))
    strides, dilations = window.strides, window.dilations
    # TensorFlow has no convolution with both; every other pixel is left out of the dense result.
    both = site.setting.backend == "tensorflow" and max(strides) > 1 and max(dilations) > 1
    thin = tuple(slice(None, None, stride) for stride in strides) if both else None
    step = (1,) * window.rank if both else strides
    named = window.is_same(site.shape(0), site.shape(1)) and not both
    surround = None if named else surrounding(site, window.pairs, 0.0)
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


def _bias(site: Site) -> Native:
    """Return the sum of an image and a bias, which ``keras.layers.Conv`` shapes at each call too."""
    from keras import ops

    if site.setting.channels_last:
        return ops.add  # type: ignore[no-any-return]
    shape = (1, -1, *(1,) * (site.rank(0) - 2))
    return lambda y, b: ops.add(y, ops.reshape(b, shape))


def conv_transpose(site: Site, *, window: TransposedWindow) -> Native:
    """``ops.conv_transpose``; any padding but ``same`` is cut off its whole result."""
    from keras import ops

    order = site.image()
    site.take(1, filter_order(site.rank(1)))
    strides, dilations, group = window.strides, window.dilations, window.group
    same = _is_same(site, window)
    cut = None if same else _cutting(site, window)
    shift, channels = _bias(site), site.axis(1, order)
    apart = site.setting.lacks_kernels and max(dilations) > 1
    settings = {
        "strides": strides,
        "padding": "same" if same else "valid",
        "output_padding": None if same else (0,) * window.rank,
        "data_format": site.data_format,
        "dilation_rate": (1,) * window.rank if apart else dilations,
    }

    def one(x: Any, w: Any) -> Any:
        w = float64.dilated(w, dilations) if apart else w
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


def _is_same(site: Site, window: TransposedWindow) -> bool:
    """Return whether the pads are those of Keras' ``same``: the result is the strides times as large."""
    beyond = [(k - 1) * d + 1 - s for k, d, s in zip(site.shape(1)[2:], window.dilations, window.strides)]
    even = all(rest >= 0 and rest % 2 == 0 for rest in beyond)
    exact = window.pairs == [(rest // 2, rest // 2) for rest in beyond]
    return window.is_padded and even and exact and not any(window.output_padding)


def _cutting(site: Site, window: TransposedWindow) -> Native | None:
    """Return what brings the whole transposed convolution to its size: more zeros, then less border."""
    more = surrounding(site, [(0, extra) for extra in window.output_padding], 0.0)
    if more is None and not window.is_padded:
        return None
    sizes = window.whole_sizes(site.shape(0), site.shape(1))
    inside = [slice(begin, size - end) for size, (begin, end) in zip(sizes, window.pairs)]
    front = [slice(None)] if site.setting.channels_last else [slice(None)] * 2
    place = (*front, *inside)

    def cut(y: Any) -> Any:
        return (y if more is None else more(y))[place]

    return cut
