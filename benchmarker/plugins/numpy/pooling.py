"""Pooling and resizing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.windows import AveragePooling, MaxPooling, Pairs
from benchmarker.plugins.numpy.base import ArrayOperators, Call, Gradients, InputGradients
from benchmarker.plugins.numpy.windows import Windows, windows_over

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def _window_sums(windows: Windows, x: Array) -> Array:
    padded = windows.pad(x)
    total = np.zeros((*x.shape[:2], *windows.out), x.dtype, like=x)
    for _, seen in windows.offsets:
        total += padded[seen]
    return total


def _window_counts(windows: Windows, window: AveragePooling, x: Array) -> Array:
    """Return by how many elements of ``x`` the sum of each window is divided."""
    if window.counts_all:
        return np.full_like(x, window.kernel_elements, order="C", shape=(1, 1, *windows.out))
    return _window_sums(windows, np.ones_like(x, order="C", shape=(1, 1, *windows.spatial)))


def _windows(x: Array, window: MaxPooling | AveragePooling, pairs: Pairs) -> Windows:
    return windows_over(x.shape[2:], window.kernel_shape, window.strides, window.dilations, pairs)


def _interpolation(old: int, new: int, x: Array) -> Array:
    """Return the matrix ``(new, old)`` of linear interpolation between the centres of the pixels of ``x``.

    Pixel ``i`` of the new axis lies at ``(i + 1/2) old / new - 1/2`` of the old one (ONNX
    ``half_pixel``), held between the first and the last.
    """
    places = np.clip((np.arange(new) + 0.5) * (old / new) - 0.5, 0.0, old - 1.0)
    below = np.floor(places).astype(np.int64)
    above = np.minimum(below + 1, old - 1)
    share = places - below
    matrix = np.zeros((new, old))
    matrix[np.arange(new), below] = 1.0 - share
    matrix[np.arange(new), above] += share
    return np.asarray(matrix, x.dtype, like=x)


class PoolingOperators(ArrayOperators):
    """Pooling and resizing of arrays."""

    def max_pool(self, x: Array, *, window: MaxPooling) -> Array:
        windows = _windows(x, window, window.covering_pairs(x.shape))
        padded = windows.pad(x, -np.inf)
        y = np.full_like(x, -np.inf, order="C", shape=(*x.shape[:2], *windows.out))
        for _, seen in windows.offsets:
            np.maximum(y, padded[seen], out=y)
        return y

    def average_pool(self, x: Array, *, window: AveragePooling) -> Array:
        windows = _windows(x, window, window.pairs)
        return _window_sums(windows, x) / _window_counts(windows, window, x)

    def global_average_pool(self, x: Array) -> Array:
        mean: Array = x.reshape(*x.shape[:2], -1).mean(axis=2)
        return mean.reshape(*x.shape[:2], *(1,) * (x.ndim - 2))

    def resize(self, x: Array, *, sizes: tuple[int, ...], mode: str = "nearest") -> Array:
        old = x.shape[2:]
        if mode == "nearest":
            return x.repeat(sizes[0] // old[0], axis=2).repeat(sizes[1] // old[1], axis=3)
        rows, columns = (_interpolation(n, new, x) for n, new in zip(old, sizes))
        y: Array = rows @ x @ columns.T
        return y


def max_pool_gradient(call: Call) -> InputGradients:
    """The gradient goes to the first largest element of each window."""
    (x,), (y,), (dy,) = call.inputs, call.outputs, call.gradients
    window = call.attributes["window"]
    windows = _windows(x, window, window.covering_pairs(x.shape))
    padded = windows.pad(x, -np.inf)
    lowest = y - call.band
    dx = np.zeros((*x.shape[:2], *windows.padded), x.dtype, like=x)
    waiting = np.ones_like(y, bool, order="C")
    for _, seen in windows.offsets:
        chosen = waiting & (padded[seen] >= lowest)
        dx[seen] += dy * chosen
        waiting &= ~chosen
    return (dx[windows.inner],)


def average_pool_gradient(call: Call) -> InputGradients:
    """Every element of a window gets an equal share."""
    (x,), (dy,) = call.inputs, call.gradients
    window = call.attributes["window"]
    windows = _windows(x, window, window.pairs)
    share = dy / _window_counts(windows, window, x)
    dx = np.zeros((*x.shape[:2], *windows.padded), x.dtype, like=x)
    for _, seen in windows.offsets:
        dx[seen] += share
    return (dx[windows.inner],)


def global_average_pool_gradient(call: Call) -> InputGradients:
    """Every element gets an equal share."""
    (x,), (dy,) = call.inputs, call.gradients
    return (np.broadcast_to(dy / math.prod(x.shape[2:]), x.shape),)


def resize_gradient(call: Call) -> InputGradients:
    """The transposed interpolation; of repetition, the sum over each element's copies."""
    (x,), (dy,) = call.inputs, call.gradients
    n, c, *old = x.shape
    sizes = call.attributes["sizes"]
    if call.attributes["mode"] == "nearest":
        copies = dy.reshape(n, c, old[0], sizes[0] // old[0], old[1], sizes[1] // old[1])
        return (copies.sum(axis=5).sum(axis=3),)
    rows, columns = (_interpolation(before, new, x) for before, new in zip(old, sizes))
    return (rows.T @ dy @ columns,)


GRADIENTS: Gradients = {
    "max_pool": max_pool_gradient,
    "average_pool": average_pool_gradient,
    "global_average_pool": global_average_pool_gradient,
    "resize": resize_gradient,
}
