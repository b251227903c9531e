"""Convolution, pooling and resizing in Chainer."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarker.graph.shapes import Shapes
from benchmarker.graph.types import TensorType
from benchmarker.graph.window_shapes import halves
from benchmarker.plugins.chainer.shapes import cut
from benchmarker.plugins.chainer.site import Native, Shape, Site


def _padding(begins: Shape, ends: Sequence[int], value: float) -> Native:
    """Return the callable that pads the spatial axes."""
    from chainer import functions

    widths = ((0, 0), (0, 0), *zip(begins, ends))
    return lambda x: functions.pad(x, widths, "constant", constant_values=value)


def conv(site: Site, *, strides: Shape, pads: Shape, dilations: Shape, group: int = 1) -> Native:
    """Chainer pads both ends of an axis alike; other pads go before."""
    from chainer import functions

    begins, ends = halves(pads)
    convolve = functions.convolution_2d if len(strides) == 2 else functions.convolution_nd
    settings = {"stride": strides, "dilate": dilations, "groups": group}
    if begins == ends:
        return functools.partial(convolve, pad=begins, **settings)
    pad = _padding(begins, ends, 0.0)

    def padded_convolution(x: Any, w: Any, b: Any = None) -> Any:
        return convolve(pad(x), w, b, **settings)

    return padded_convolution


def conv_transpose(
    site: Site, *, strides: Shape, pads: Shape, output_padding: Shape, dilations: Shape, group: int = 1
) -> Native:
    """The output's size carries the output padding; what is cropped at one end only is cut off after."""
    from chainer import functions

    begins, ends = halves(pads)
    x, w = site.shape(0), site.shape(1)
    deconvolve = _deconvolution_2d() if len(strides) == 2 else functions.deconvolution_nd
    spatial = (
        Shapes()
        .conv_transpose(
            TensorType(x),
            TensorType(w),
            strides=strides,
            pads=pads,
            output_padding=output_padding,
            dilations=dilations,
            group=group,
        )
        .shape[2:]
    )
    settings = {"stride": strides, "dilate": dilations, "groups": group}
    if begins == ends and all(extra < stride for extra, stride in zip(output_padding, strides)):
        return functools.partial(deconvolve, pad=begins, outsize=spatial, **settings)
    covered = [s * (i - 1) + (k - 1) * d + 1 for i, k, s, d in zip(x[2:], w[2:], strides, dilations)]
    extended = tuple(max(c, b + n) for c, b, n in zip(covered, begins, spatial))
    # Beyond what a stride away from the kernel covers, Chainer has nothing: zeros come after.
    outsize = tuple(min(n, c + s - 1) for n, c, s in zip(extended, covered, strides))
    rest = tuple(n - o for n, o in zip(extended, outsize))
    pad = _padding((0,) * len(rest), rest, 0.0) if any(rest) else None
    crop = cut(
        (*x[:1], w[1] * group, *extended),
        tuple(range(2, len(x))),
        begins,
        tuple(b + n for b, n in zip(begins, spatial)),
    )

    def cropped_deconvolution(x: Any, w: Any, b: Any = None) -> Any:
        y = deconvolve(x, w, None, outsize=outsize, **settings)
        y = crop(y if pad is None else pad(y))
        return y if b is None else functions.bias(y, b, axis=1)

    return cropped_deconvolution


@functools.cache
def _deconvolution_2d() -> Native:
    """Return ``functions.deconvolution_2d`` with its gradient cured, made once because it needs Chainer.

    Chainer's own takes variables for shapes where the weight needs a gradient and the input does not.
    """
    from chainer.functions.connection.deconvolution_2d import Deconvolution2DFunction

    class Deconvolution2D(Deconvolution2DFunction):  # type: ignore[misc]
        def _set_cover_all(self, x: Any, w: Any) -> None:
            super()._set_cover_all(getattr(x, "shape", x), getattr(w, "shape", w))

    def deconvolution_2d(x: Any, w: Any, b: Any = None, **settings: Any) -> Any:
        return Deconvolution2D(**settings).apply((x, w) if b is None else (x, w, b))[0]

    return deconvolution_2d


def _window_count(size: int, kernel: int, stride: int, pad: int, cover_all: bool) -> int:
    """Return Chainer's number of windows over an axis padded by ``pad`` at both ends."""
    return (size + 2 * pad - kernel + (stride - 1 if cover_all else 0)) // stride + 1


def max_pool(
    site: Site, *, kernel_shape: Shape, strides: Shape, pads: Shape, ceil_mode: bool = False
) -> Native:
    """``cover_all`` is ``ceil_mode`` but for a last window that starts in the end padding."""
    from chainer import functions

    x = site.shape(0)
    begins, ends = halves(pads)
    out = (
        Shapes()
        .max_pool(TensorType(x), kernel_shape=kernel_shape, strides=strides, pads=pads, ceil_mode=ceil_mode)
        .shape[2:]
    )
    count = functools.partial(_window_count, cover_all=ceil_mode)
    pool = functools.partial(functions.max_pooling_nd, ksize=kernel_shape, stride=strides)
    if begins == ends and tuple(map(count, x[2:], kernel_shape, strides, begins)) == out:
        return functools.partial(pool, pad=begins, cover_all=ceil_mode)
    # ONNX drops a last window that starts in the end padding, Chainer keeps it: pad to what ONNX covers.
    covered = [(o - 1) * s + k for o, s, k in zip(out, strides, kernel_shape)]
    ends = tuple(max(c - size - b, 0) for c, size, b in zip(covered, x[2:], begins))
    pad = _padding(begins, ends, -math.inf)
    return lambda x: pool(pad(x), pad=0, cover_all=False)


def average_pool(
    site: Site, *, kernel_shape: Shape, strides: Shape, pads: Shape, count_include_pad: bool = False
) -> Native:
    """Chainer pads both ends of an axis alike; other pads go before. All are uncounted by a factor.

    Its own ``pad_value=None`` writes over the gradient that it is given, which others may hold too.
    """
    from chainer import functions

    begins, ends = halves(pads)
    alike = begins == ends
    pool = functools.partial(
        functions.average_pooling_nd, ksize=kernel_shape, stride=strides, pad=begins if alike else 0
    )
    if alike and (count_include_pad or not any(pads)):
        return pool
    pad: Native = _unpadded if alike else _padding(begins, ends, 0.0)
    if count_include_pad:
        return lambda x: pool(pad(x))
    ones = np.ones((1, 1, *site.shape(0)[2:]), dtype=np.float32)
    factor = site.constant(1 / pool(pad(ones)).array)
    return lambda x: pool(pad(x)) * factor


def _unpadded(x: Any) -> Any:
    return x


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
    rows, columns = (site.constant(_interpolation(old, new)) for old, new in zip(spatial, sizes))
    return lambda x: functions.matmul(functions.matmul(rows, x), columns, transb=True)


def _interpolation(old: int, new: int) -> Any:
    """Return the matrix ``(new, old)`` that interpolates linearly between the centres of pixels."""
    place = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0.0, old - 1.0)
    return np.maximum(1.0 - np.abs(place[:, None] - np.arange(old)), 0.0)
