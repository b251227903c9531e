"""Convolution and its transpose: windows unfolded to columns, and matrix products with the filters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.plugins.numpy.base import (
    ArrayOperators,
    Call,
    Gradients,
    InputGradients,
    channel_sum,
    per_channel,
)
from benchmarker.plugins.numpy.windows import Index, Windows

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
    y = np.empty((image.shape[0], group, per_group, math.prod(windows.out)), image.dtype)
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
    image = np.empty((values.shape[0], channels, *windows.spatial), values.dtype)
    for part in _chunks(values.shape[0], windows, channels):
        columns = np.matmul(filters.swapaxes(1, 2), values[part])
        image[part] = windows.scatter(columns.reshape(len(columns), channels, -1, columns.shape[-1]))
    return image


def _filter_gradient(windows: Windows, image: Array, values: Array, group: int) -> Array:
    """Return the transpose of :func:`_correlate` in the filters, summed over the mini-batch."""
    values = values.reshape(image.shape[0], group, values.shape[1] // group, -1)
    per_filter = image.shape[1] // group * math.prod(windows.kernel)
    total = np.zeros((group, values.shape[2], per_filter), image.dtype)
    for part in _chunks(image.shape[0], windows, image.shape[1]):
        columns = _grouped_columns(windows, image[part], group)
        total += np.matmul(values[part], columns.swapaxes(2, 3)).sum(axis=0)
    return total


def _conv_windows(
    x: Array, w: Array, strides: Sequence[int], pads: Sequence[int], dilations: Sequence[int]
) -> Windows:
    return Windows(x.shape[2:], w.shape[2:], tuple(strides), tuple(dilations), tuple(pads))


def _full_windows(x: Array, w: Array, strides: Sequence[int], dilations: Sequence[int]) -> Windows:
    """Return the windows of a transposed convolution of ``x`` over its whole result, before its pads."""
    full = tuple(
        (n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(x.shape[2:], strides, w.shape[2:], dilations)
    )
    return Windows(full, w.shape[2:], tuple(strides), tuple(dilations), (0,) * 2 * len(full))


def _kept(
    full: Sequence[int], pads: Sequence[int], output_padding: Sequence[int]
) -> tuple[tuple[int, ...], Index, Index]:
    """Return the result's spatial sizes, what of the whole stays, and where in the result it goes.

    The end of the result that output padding adds lies beyond the whole: no window reaches it.
    """
    rank = len(full)
    sizes = tuple(n + more - b - e for n, more, b, e in zip(full, output_padding, pads[:rank], pads[rank:]))
    lengths = [min(size, n - b) for size, n, b in zip(sizes, full, pads)]
    source = tuple(slice(b, b + length) for b, length in zip(pads, lengths))
    target = tuple(slice(0, length) for length in lengths)
    return sizes, (slice(None), slice(None), *source), (slice(None), slice(None), *target)


class ConvolutionOperators(ArrayOperators):
    """Convolutions on arrays."""

    def conv(
        self,
        x: Array,
        w: Array,
        b: Array | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> Array:
        windows = _conv_windows(x, w, strides, pads, dilations)
        y = _correlate(windows, x, w.reshape(group, w.shape[0] // group, -1))
        y = y.reshape(x.shape[0], w.shape[0], *windows.out)
        if b is not None:
            y += per_channel(b, y.ndim)
        return y

    def conv_transpose(
        self,
        x: Array,
        w: Array,
        b: Array | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        output_padding: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> Array:
        windows = _full_windows(x, w, strides, dilations)
        whole = _spread(windows, x, w.reshape(group, w.shape[0] // group, -1))
        sizes, source, target = _kept(windows.spatial, pads, output_padding)
        y = np.zeros((*whole.shape[:2], *sizes), x.dtype)
        y[target] = whole[source]
        if b is not None:
            y += per_channel(b, y.ndim)
        return y


def conv_gradient(call: Call) -> InputGradients:
    """Data gradient: transposed filters, scattered back; weight gradient: windows times ``dy``."""
    x, w = call.inputs[:2]
    (dy,), attributes = call.gradients, call.attributes
    group = attributes["group"]
    windows = _conv_windows(x, w, attributes["strides"], attributes["pads"], attributes["dilations"])
    dx = _spread(windows, dy, w.reshape(group, w.shape[0] // group, -1)) if call.needed[0] else None
    dw = _filter_gradient(windows, x, dy, group).reshape(w.shape) if call.needed[1] else None
    return dx, dw, channel_sum(dy) if call.has(2) else None


def conv_transpose_gradient(call: Call) -> InputGradients:
    """A convolution of ``dy``, because the operator is a convolution's data gradient."""
    x, w = call.inputs[:2]
    (dy,), attributes = call.gradients, call.attributes
    group = attributes["group"]
    windows = _full_windows(x, w, attributes["strides"], attributes["dilations"])
    _, source, target = _kept(windows.spatial, attributes["pads"], attributes["output_padding"])
    whole = np.zeros((*dy.shape[:2], *windows.spatial), dy.dtype)
    whole[source] = dy[target]
    dx = dw = None
    if call.needed[0]:
        dx = _correlate(windows, whole, w.reshape(group, w.shape[0] // group, -1)).reshape(x.shape)
    if call.needed[1]:
        dw = _filter_gradient(windows, whole, x, group).reshape(w.shape)
    return dx, dw, channel_sum(dy) if call.has(2) else None


GRADIENTS: Gradients = {"conv": conv_gradient, "conv_transpose": conv_transpose_gradient}
