"""Convolution and its transpose: windows unfolded to columns, and matrix products with the filters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.windows import Shape, TransposedWindow, Window
from benchmarker.plugins.numpy.base import (
    ArrayOperators,
    Call,
    Gradients,
    InputGradients,
    channel_sum,
    per_channel,
)
from benchmarker.plugins.numpy.windows import Index, Windows, windows_over

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_CHUNK = 1 << 23
"""Elements that are unfolded at once, so that the memory does not grow with the mini-batch."""


def _chunks(samples: int, windows: Windows, channels: int) -> Iterator[slice]:
    """Yield slices of the mini-batch of about :data:`_CHUNK` elements of columns, at least one sample each."""
    per_sample = channels * math.prod(windows.kernel) * math.prod(windows.out)
    step = max(1, _CHUNK // max(1, per_sample))
    for start in range(0, samples, step):
        yield slice(start, start + step)


def _grouped_columns(windows: Windows, image: Array, group: int) -> Array:
    """Return the windows as matrices ``(N, group, C/group * kernel elements, windows)``."""
    columns = windows.columns(image)
    return columns.reshape(image.shape[0], group, -1, columns.shape[-1])


def _correlate(windows: Windows, image: Array, filters: Array) -> Array:
    """Return each filter's product with each window, ``(N, group * M/group, windows)``.

    ``image`` is ``(N, C, *spatial)``, ``filters`` ``(group, M/group, C/group * kernel elements)``.
    """
    group, per_group = filters.shape[:2]
    y = np.empty((image.shape[0], group, per_group, math.prod(windows.out)), image.dtype, like=image)
    for part in _chunks(image.shape[0], windows, image.shape[1]):
        np.matmul(filters, _grouped_columns(windows, image[part], group), out=y[part])
    return y.reshape(image.shape[0], group * per_group, -1)


def _spread(windows: Windows, values: Array, filters: Array) -> Array:
    """Add the filters times ``values (N, group * M/group, windows)`` where the windows lie.

    The transpose of :func:`_correlate` in the image; returns ``(N, C, *spatial)``.
    """
    group, _, per_filter = filters.shape
    channels = group * per_filter // math.prod(windows.kernel)
    values = values.reshape(values.shape[0], group, filters.shape[1], -1)
    image = np.empty((values.shape[0], channels, *windows.spatial), values.dtype, like=values)
    for part in _chunks(values.shape[0], windows, channels):
        columns = np.matmul(filters.swapaxes(1, 2), values[part])
        image[part] = windows.scatter(columns.reshape(len(columns), channels, -1, columns.shape[-1]))
    return image


def _filter_gradient(windows: Windows, image: Array, values: Array, group: int) -> Array:
    """Return the transpose of :func:`_correlate` in the filters, summed over the mini-batch."""
    values = values.reshape(image.shape[0], group, values.shape[1] // group, -1)
    per_filter = image.shape[1] // group * math.prod(windows.kernel)
    total = np.zeros((group, values.shape[2], per_filter), image.dtype, like=image)
    for part in _chunks(image.shape[0], windows, image.shape[1]):
        columns = _grouped_columns(windows, image[part], group)
        total += np.matmul(values[part], columns.swapaxes(2, 3)).sum(axis=0)
    return total


def _windows(x: Array, w: Array, window: Window) -> Windows:
    return windows_over(x.shape[2:], w.shape[2:], window.strides, window.dilations, window.pairs)


def _reached_windows(x: Array, w: Array, window: TransposedWindow) -> Windows:
    """Return the windows of a transposed convolution of ``x`` over all that they reach, before its pads."""
    reached = window.reached_sizes(x.shape, w.shape)
    return windows_over(reached, w.shape[2:], window.strides, window.dilations, [(0, 0)] * len(reached))


def _kept(reached: Shape, window: TransposedWindow) -> tuple[Shape, Index, Index]:
    """Return the result's spatial sizes, what of the windows' reach stays, and where in the result it goes.

    The end of the result that output padding adds lies beyond: no window reaches it.
    """
    axes = zip(reached, window.output_padding, window.pairs)
    sizes = tuple(n + more - begin - end for n, more, (begin, end) in axes)
    lengths = [min(size, n - begin) for size, n, begin in zip(sizes, reached, window.begins)]
    source = tuple(slice(begin, begin + length) for begin, length in zip(window.begins, lengths))
    target = tuple(slice(0, length) for length in lengths)
    return sizes, (slice(None), slice(None), *source), (slice(None), slice(None), *target)


def _filters(w: Array, group: int) -> Array:
    """Return a weight as ``(group, filters of a group, elements of a filter)``."""
    return w.reshape(group, w.shape[0] // group, -1)


class ConvolutionOperators(ArrayOperators):
    """Convolutions on arrays."""

    def conv(self, x: Array, w: Array, b: Array | None = None, *, window: Window) -> Array:
        windows = _windows(x, w, window)
        y = _correlate(windows, x, _filters(w, window.group))
        y = y.reshape(x.shape[0], w.shape[0], *windows.out)
        if b is not None:
            y += per_channel(b, y.ndim)
        return y

    def conv_transpose(
        self, x: Array, w: Array, b: Array | None = None, *, window: TransposedWindow
    ) -> Array:
        windows = _reached_windows(x, w, window)
        whole = _spread(windows, x, _filters(w, window.group))
        sizes, source, target = _kept(windows.spatial, window)
        y = np.zeros((*whole.shape[:2], *sizes), x.dtype, like=x)
        y[target] = whole[source]
        if b is not None:
            y += per_channel(b, y.ndim)
        return y


def conv_gradient(call: Call) -> InputGradients:
    """Data gradient: transposed filters, scattered back; weight gradient: windows times ``dy``."""
    x, w = call.inputs[:2]
    (dy,), window = call.gradients, call.attributes["window"]
    windows = _windows(x, w, window)
    dx = _spread(windows, dy, _filters(w, window.group)) if call.needed[0] else None
    dw = _filter_gradient(windows, x, dy, window.group).reshape(w.shape) if call.needed[1] else None
    return dx, dw, channel_sum(dy) if call.has(2) else None


def conv_transpose_gradient(call: Call) -> InputGradients:
    """A convolution of ``dy``, because the operator is a convolution's data gradient."""
    x, w = call.inputs[:2]
    (dy,), window = call.gradients, call.attributes["window"]
    windows = _reached_windows(x, w, window)
    _, source, target = _kept(windows.spatial, window)
    whole = np.zeros((*dy.shape[:2], *windows.spatial), dy.dtype, like=dy)
    whole[source] = dy[target]
    dx = dw = None
    if call.needed[0]:
        dx = _correlate(windows, whole, _filters(w, window.group)).reshape(x.shape)
    if call.needed[1]:
        dw = _filter_gradient(windows, whole, x, window.group).reshape(w.shape)
    return dx, dw, channel_sum(dy) if call.has(2) else None


GRADIENTS: Gradients = {"conv": conv_gradient, "conv_transpose": conv_transpose_gradient}
