"""Windows and interpolation by numbers: what a mean over windows divides by, and weights of pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarker.graph.windows import AveragePooling, Shape


def window_counts(window: AveragePooling, x: Shape) -> np.ndarray[Any, Any]:
    """Return how many elements of an input of shape ``x`` each window covers, shape ``(1, *out, 1)``."""
    sizes = x[2:]
    counts = np.ones((1,) * len(sizes))
    axes = zip(sizes, window.kernel_shape, window.strides, window.pairs)
    for axis, (size, k, stride, (begin, end)) in enumerate(axes):
        starts = np.arange((size + begin + end - k) // stride + 1) * stride - begin
        covered = np.minimum(starts + k, size) - np.maximum(starts, 0)
        shape = [1] * len(sizes)
        shape[axis] = -1
        counts = counts * covered.reshape(shape)
    return counts[None, ..., None]


def linear_interpolation(old: int, new: int) -> np.ndarray[Any, Any]:
    """Return the matrix ``(new, old)`` that interpolates linearly between the centres of pixels."""
    place = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0.0, old - 1.0)
    return np.maximum(1.0 - np.abs(place[:, None] - np.arange(old)), 0.0)
