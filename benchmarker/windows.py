"""Sliding windows by numbers: ONNX's explicit pads against ``SAME`` and ``VALID``, and interpolation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarker.graph.window_shapes import halves

Pairs = list[tuple[int, int]]


def explicit_pairs(pads: Sequence[int]) -> Pairs:
    """Return ONNX's pads, all begins then all ends, as one pair an axis."""
    return list(zip(*halves(pads)))


def same_pairs(
    sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> Pairs:
    """Return the pads that ``SAME`` gives each axis."""
    pairs = []
    for size, k, stride, dilation in zip(sizes, kernel, strides, dilations):
        total = max((-(-size // stride) - 1) * stride + (k - 1) * dilation + 1 - size, 0)
        pairs.append((total // 2, total - total // 2))
    return pairs


def ceil_pairs(
    sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int]
) -> Pairs:
    """Return the pads with which ``floor`` gives the windows of ONNX's ``ceil_mode``."""
    pairs = []
    for size, k, stride, (begin, end) in zip(sizes, kernel, strides, explicit_pairs(pads)):
        windows = math.ceil((size + begin + end - k) / stride) + 1
        if (windows - 1) * stride >= size + begin:
            windows -= 1
        pairs.append((begin, max((windows - 1) * stride + k - size - begin, 0)))
    return pairs


def window_counts(
    sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], pairs: Pairs
) -> np.ndarray[Any, Any]:
    """Return how many elements of the input each window covers, shape ``(1, *out, 1)``."""
    counts = np.ones((1,) * len(sizes))
    for axis, (size, k, stride, (begin, end)) in enumerate(zip(sizes, kernel, strides, pairs)):
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
