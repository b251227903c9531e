"""Gradients of maximum pooling by who gets how much of it, where elements are equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarker.plugins.numpy.base import Call
from benchmarker.plugins.numpy.windows import windows_over


def pooled(weights_of: Callable[[Any, int], Any]) -> Callable[[Call], tuple[Any, ...]]:
    """Return a gradient of ``max_pool`` by the weights of tied elements, ``(n, kernel)``."""

    def gradient(call: Call) -> tuple[Any, ...]:
        (x,), (dy,) = call.inputs, call.gradients
        window = call.attributes["window"]
        pairs = window.covering_pairs(x.shape)
        windows = windows_over(x.shape[2:], window.kernel_shape, window.strides, window.dilations, pairs)
        padded = windows.pad(x, -np.inf)
        views = [view for _, view in windows.offsets]
        values = np.stack([padded[view] for view in views], axis=-1)
        tied = values == values.max(axis=-1, keepdims=True)
        weights = weights_of(tied, values.shape[-1])
        dx = np.zeros((*x.shape[:2], *windows.padded), x.dtype)
        for place, view in enumerate(views):
            dx[view] += dy * weights[..., place]
        return (dx[windows.inner],)

    return gradient


def last(tied: Any, size: int) -> Any:
    return np.arange(size) == size - 1 - np.argmax(tied[..., ::-1], axis=-1)[..., None]


def evenly(tied: Any, size: int) -> Any:
    return tied / tied.sum(axis=-1, keepdims=True)
