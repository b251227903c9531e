"""Pooling and resizing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarker.graph.windows import AveragePooling, MaxPooling, Pairs
from benchmarker.plugins.common.axis_orders import across
from benchmarker.plugins.common.padding import window_counts
from benchmarker.plugins.jax.layout_operators import Arranging
from benchmarker.plugins.jax.tensors import LAST, Tensor


class Pooling(Arranging):
    """Maxima and means over windows, and resizing."""

    # --- pooling -----------------------------------------------------------------------------

    def max_pool(self, x: Tensor, *, window: MaxPooling) -> Tensor:
        y = self._pooled(x, window, window.covering_pairs(x.shape), self.lax.max, -math.inf)
        return Tensor(y, self.image_form(x.rank))

    def average_pool(self, x: Tensor, *, window: AveragePooling) -> Tensor:
        form = self.image_form(x.rank)
        y = self._pooled(x, window, window.pairs, self.lax.add, 0.0)
        if window.counts_all:
            return Tensor(y / window.kernel_elements, form)
        counts = self.jnp.asarray(window_counts(window, x.shape), y.dtype)
        return Tensor(y / (counts if form == LAST else LAST.decode(counts)), form)

    def _pooled(
        self, x: Tensor, window: MaxPooling | AveragePooling, pairs: Pairs, function: Any, start: float
    ) -> Any:
        value = self.image(x)
        last = self.image_form(x.rank) == LAST
        return self.lax.reduce_window(
            value,
            np.asarray(start, value.dtype),
            function,
            across(window.kernel_shape, 1, last),
            across(window.strides, 1, last),
            across(pairs, (0, 0), last),
        )

    def global_average_pool(self, x: Tensor) -> Tensor:
        axes = tuple(x.place(axis) for axis in range(2, x.rank))
        return Tensor(self.value(x).mean(axes, keepdims=True), x.form)

    # --- resizing ----------------------------------------------------------------------------

    def resize(self, x: Tensor, *, sizes: tuple[int, ...], mode: str = "nearest") -> Tensor:
        value = self.value(x)
        places = tuple(x.place(axis) for axis in (2, 3))
        if mode == "nearest":
            for place, size in zip(places, sizes):
                value = self.jnp.repeat(value, size // value.shape[place], axis=place)
            return Tensor(value, x.form)
        shape = list(value.shape)
        for place, size in zip(places, sizes):
            shape[place] = size
        return Tensor(self.jax.image.resize(value, shape, "linear", antialias=False), x.form)
