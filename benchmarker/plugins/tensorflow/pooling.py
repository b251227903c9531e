"""Pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarker.plugins.tensorflow.arranging import Arranging
from benchmarker.plugins.tensorflow.tensors import Tensor
from benchmarker.windows import (
    Pairs,
    ceil_pairs,
    explicit_pairs,
    same_pairs,
    window_counts,
)


class Pooling(Arranging):
    """Maxima and means over windows."""

    def max_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        ceil_mode: bool = False,
    ) -> Tensor:
        value, sizes = self.image(x), x.shape[2:]
        pairs = ceil_pairs(sizes, kernel_shape, strides, pads) if ceil_mode else explicit_pairs(pads)
        padding = "VALID"
        if any(map(any, pairs)) and pairs == self._same_window(sizes, kernel_shape, strides):
            padding = "SAME"
        else:
            value = self._bordered(value, pairs, -math.inf)
        y = self._pool("max_pool", value, kernel_shape, strides, padding)
        return Tensor(y, self.image_order(x.rank))

    def average_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        count_include_pad: bool = False,
    ) -> Tensor:
        order = self.image_order(x.rank)
        value, sizes, pairs = self.image(x), x.shape[2:], explicit_pairs(pads)
        counted = count_include_pad or not any(pads)
        # TensorFlow's SAME leaves the padding out of the mean.
        if not counted and pairs == self._same_window(sizes, kernel_shape, strides):
            return Tensor(self._pool("avg_pool", value, kernel_shape, strides, "SAME"), order)
        y = self._pool("avg_pool", self._bordered(value, pairs, 0.0), kernel_shape, strides, "VALID")
        if not counted:
            correction = math.prod(kernel_shape) / window_counts(sizes, kernel_shape, strides, pairs)
            correction = correction if self._images_last else np.moveaxis(correction, -1, 1)
            y = y * self.tf.constant(correction, y.dtype)
        return Tensor(y, order)

    def global_average_pool(self, x: Tensor) -> Tensor:
        first = self._first_spatial
        value = self.tf.reduce_mean(self.image(x), tuple(range(first, first + x.rank - 2)), keepdims=True)
        return Tensor(value, self.image_order(x.rank))

    def _bordered(self, x: Any, pairs: Pairs, constant: float) -> Any:
        if not any(map(any, pairs)):
            return x
        return self.tf.pad(x, self.across(pairs, (0, 0)), constant_values=constant)

    def _same_window(self, sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int]) -> Pairs:
        return same_pairs(sizes, kernel, strides, (1,) * len(sizes))

    def _pool(
        self, kind: str, x: Any, kernel: tuple[int, ...], strides: tuple[int, ...], padding: str
    ) -> Any:
        tf = self.tf
        if len(kernel) == 1:
            plane = tf.expand_dims(x, self._first_spatial)
            return tf.squeeze(
                self._pool(kind, plane, (1, *kernel), (1, *strides), padding), self._first_spatial
            )
        if len(kernel) == 3 and x.dtype == tf.float64:
            return self._pool_volume(kind, x, kernel, strides, padding)
        pool = getattr(tf.nn, f"{kind}{len(kernel)}d")
        return pool(x, kernel, strides, padding, self.data_format(len(x.shape)))

    def _pool_volume(
        self, kind: str, x: Any, kernel: tuple[int, ...], strides: tuple[int, ...], padding: str
    ) -> Any:
        """Pool the planes, then what is left along the first axis: TensorFlow has no float64 for three axes.

        Channels stand last.
        """
        batch, depth, *plane, channels = (int(size) for size in x.shape)
        planes = self.tf.reshape(x, (batch * depth, *plane, channels))
        planes = self._pool(kind, planes, kernel[1:], strides[1:], padding)
        height, width = (int(size) for size in planes.shape[1:3])
        lines = self.tf.reshape(planes, (batch, depth, height * width, channels))
        lines = self._pool(kind, lines, (kernel[0], 1), (strides[0], 1), padding)
        return self.tf.reshape(lines, (batch, -1, height, width, channels))
