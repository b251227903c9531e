"""What TensorFlow has in float32 only, written in Keras functions of which it has float64 kernels too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from benchmarker.plugins.common.padding import linear_interpolation
from benchmarker.plugins.keras.layouts import Native

Sizes = tuple[int, ...]


def gelu(approximate: str) -> Native:
    """Return ``ops.gelu``, whose constants TensorFlow rounds."""
    from keras import ops

    def exact(x: Any) -> Any:
        return 0.5 * x * (1.0 + ops.erf(x / math.sqrt(2.0)))

    def by_tanh(x: Any) -> Any:
        return 0.5 * x * (1.0 + ops.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))

    return by_tanh if approximate == "tanh" else exact


def interpolation(old: Sequence[int], new: Sequence[int]) -> Native:
    """Return the linear resizing of channels-last images as two products: the kernel's result is float32."""
    from keras import ops

    rows, columns = (linear_interpolation(before, after) for before, after in zip(old, new))
    return lambda x: ops.einsum("ih,jw,nhwc->nijc", rows, columns, x)


def dilated(kernel: Any, dilations: Sequence[int]) -> Any:
    """Return a kernel with zeros between its elements, as no gradient of TensorFlow's has dilations."""
    from keras import ops

    for axis, dilation in enumerate(dilations):
        if dilation == 1:
            continue
        shape = list(kernel.shape)
        shape[axis] *= dilation
        pads = [(0, dilation - 1) if i == axis + 1 else (0, 0) for i in range(len(shape) + 1)]
        kernel = ops.reshape(ops.pad(ops.expand_dims(kernel, axis + 1), pads), shape)
        inside = slice(0, shape[axis] - dilation + 1)
        kernel = kernel[tuple(inside if i == axis else slice(None) for i in range(len(shape)))]
    return kernel


def volume_pooling(function: Native, kernel: Sizes, strides: Sizes, padding: str) -> Native:
    """Return the pooling of channels-last volumes: of the planes, then of what is left along the first axis.

    Parameters
    ----------
    function : callable
        ``ops.max_pool`` or ``ops.average_pool``.
    kernel, strides, padding
        As it takes them.
    """
    from keras import ops

    def run(x: Any) -> Any:
        batch, depth, *plane, channels = x.shape
        planes = ops.reshape(x, (batch * depth, *plane, channels))
        planes = function(planes, pool_size=kernel[1:], strides=strides[1:], padding=padding)
        height, width = planes.shape[1:3]
        lines = ops.reshape(planes, (batch, depth, height * width, channels))
        lines = function(lines, pool_size=(kernel[0], 1), strides=(strides[0], 1), padding=padding)
        return ops.reshape(lines, (batch, -1, height, width, channels))

    return run
