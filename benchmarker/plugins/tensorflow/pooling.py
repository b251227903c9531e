"""Pooling and resizing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarker.graph.windows import AveragePooling, MaxPooling, Pairs, Shape
from benchmarker.plugins.common.axis_orders import image_order
from benchmarker.plugins.common.padding import linear_interpolation, window_counts
from benchmarker.plugins.tensorflow.layout_operators import Arranging
from benchmarker.plugins.tensorflow.tensors import Tensor


class Pooling(Arranging):
    """Maxima and means over windows, and resizing."""

    def max_pool(self, x: Tensor, *, window: MaxPooling) -> Tensor:
        padding = "SAME" if window.is_same(x.shape) else "VALID"
        value = self.image(x)
        if padding == "VALID":
            value = self._bordered(value, window.covering_pairs(x.shape), -math.inf)
        y = self._pool("max_pool", value, window.kernel_shape, window.strides, padding)
        return Tensor(y, self.image_order(x.rank))

    def average_pool(self, x: Tensor, *, window: AveragePooling) -> Tensor:
        order, value = self.image_order(x.rank), self.image(x)
        kernel, strides = window.kernel_shape, window.strides
        # TensorFlow's SAME leaves the padding out of the mean.
        if not window.counts_all and window.is_same(x.shape):
            return Tensor(self._pool("avg_pool", value, kernel, strides, "SAME"), order)
        y = self._pool("avg_pool", self._bordered(value, window.pairs, 0.0), kernel, strides, "VALID")
        if not window.counts_all:
            correction = window.kernel_elements / window_counts(window, x.shape)
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

    def _pool(self, kind: str, x: Any, kernel: Shape, strides: Shape, padding: str) -> Any:
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

    def _pool_volume(self, kind: str, x: Any, kernel: Shape, strides: Shape, padding: str) -> Any:
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

    # --- resizing ----------------------------------------------------------------------------

    def resize(self, x: Tensor, *, sizes: Shape, mode: str = "nearest") -> Tensor:
        value = self.arrange(x, image_order(x.rank))  # TensorFlow has no kernel for another layout
        if mode != "nearest" and value.dtype == self.tf.float64:
            y = self._interpolated(value, sizes)
        elif mode != "nearest":
            y = self.tf.raw_ops.ResizeBilinear(images=value, size=sizes, half_pixel_centers=True)
        elif self._xla:
            y = self._repeated(value, sizes)  # XLA lacks the gradient of the kernel
        else:
            # tf.image.resize means another nearest neighbour: that of half pixels.
            y = self.tf.raw_ops.ResizeNearestNeighbor(images=value, size=sizes)
        return Tensor(self._as(y, value.dtype), image_order(x.rank))

    def _interpolated(self, x: Any, sizes: Shape) -> Any:
        """Interpolate by two products, as the kernel's result is float32 always."""
        rows, columns = (
            self.tf.constant(linear_interpolation(int(old), new)) for old, new in zip(x.shape[1:3], sizes)
        )
        return self.tf.einsum("ih,jw,nhwc->nijc", rows, columns, x)

    def _repeated(self, x: Any, sizes: Shape) -> Any:
        batch, height, width, channels = (int(size) for size in x.shape)
        apart = self.tf.reshape(x, (batch, height, 1, width, 1, channels))
        shape = (batch, height, sizes[0] // height, width, sizes[1] // width, channels)
        return self.tf.reshape(self.tf.broadcast_to(apart, shape), (batch, *sizes, channels))
