"""The operators as ONNX nodes that OpenCV reads as they are meant."""

from __future__ import annotations

import math

import numpy as np

from benchmarker.graph.attributes import Recurrent
from benchmarker.graph.operators import Operators, Tensor
from benchmarker.graph.windows import MaxPooling
from benchmarker.plugins.common.onnx.composed import ComposedTanhGelu, rounded_down

_SATURATED = 10.0
"""From here on the hyperbolic tangent is 1 in float32."""


class OpenCvOperators(ComposedTanhGelu):
    """Those of ONNX, but where OpenCV would compute something else or nothing.

    It takes the approximation of GELU for the function itself.
    """

    # It has no plain recurrent layer, and of rotary embeddings only those with the tables of all positions.
    rnn = Operators.rnn
    rotary_embedding = Operators.rotary_embedding

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        # It pairs stacks of matrices wrongly where parts of one are to be repeated.
        stacks = [self._shape(operand)[:-2] for operand in (a, b)]
        if not all(stacks) or stacks[0] == stacks[1]:
            return super().matmul(a, b)
        whole = np.broadcast_shapes(*stacks)
        a, b = (self.expand(operand, shape=(*whole, *self._shape(operand)[-2:])) for operand in (a, b))
        return super().matmul(a, b)

    def _reduce(self, kind: str, x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
        if 0 in axes and len(axes) > 2:
            # Its sums over three axes, of which one is the first, are wrong.
            x = super()._reduce(kind, x, tuple(axis for axis in axes if axis), keepdims)
            axes = (0,)
        return super()._reduce(kind, x, axes, keepdims)

    def max_pool(self, x: Tensor, *, window: MaxPooling) -> Tensor:
        # It would keep a last window that begins in the padding.
        return super().max_pool(x, window=rounded_down(window, self._shape(x)))

    def global_average_pool(self, x: Tensor) -> Tensor:
        # It has that of images only.
        rank = len(self._shape(x))
        if rank == 4:
            return super().global_average_pool(x)
        return self._reduce("ReduceMean", x, tuple(range(2, rank)), keepdims=True)

    def group_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, num_groups: int, epsilon: float = 1e-5
    ) -> Tensor:
        # It takes the groups for the channels that the layer before made, in blocks of eight.
        count, channels, *spatial = self._shape(x)
        size = channels // num_groups * math.prod(spatial)
        groups = self.reshape(x, shape=(count, num_groups, size))
        centred = self.sub(groups, self.reduce_mean(groups, axes=(2,), keepdims=True))
        variance = self.reduce_mean(self.mul(centred, centred), axes=(2,), keepdims=True)
        normal = self.div(centred, self.sqrt(self.affine(variance, beta=epsilon)))
        column = (channels, *(1 for _ in spatial))
        scaled = self.mul(
            self.reshape(normal, shape=(count, channels, *spatial)), self.reshape(scale, shape=column)
        )
        return self.add(scaled, self.reshape(b, shape=column))

    def resize(self, x: Tensor, *, sizes: tuple[int, ...], mode: str = "nearest") -> Tensor:
        # Along an axis of size 1 it reads past the end.
        images, shape = self._shape(x)[:2], self._shape(x)[2:]
        spread = tuple(wanted if size == 1 else size for size, wanted in zip(shape, sizes))
        if spread != shape:
            x = self.expand(x, shape=(*images, *spread))
        # It takes the sizes of all axes alone.
        return x if spread == tuple(sizes) else self._resized(x, (*images, *sizes), mode)

    def gru(self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: Recurrent) -> tuple[Tensor, Tensor]:
        # The state that it makes itself has one row from the second step on.
        states = (layer.directions, self._shape(x)[1], layer.hidden_size)
        start = self._constant(np.zeros(states, np.float32))
        return self._recurrent("GRU", 2, (x, w, r, b, "", start), layer, linear_before_reset=1)

    def tanh(self, x: Tensor) -> Tensor:
        # Its own is not a number where exp(2 x) is infinite.
        return super().tanh(self.clip(x, min=-_SATURATED, max=_SATURATED))

    def log(self, x: Tensor) -> Tensor:
        # It takes the logarithm of the sum of an exponential and anything for softplus, as if that were 1.
        return self.affine(super().log(self.affine(x, alpha=0.5)), beta=math.log(2.0))

    def abs(self, x: Tensor) -> Tensor:
        # Its own takes floating-point numbers only. What a composite has made itself is one.
        if x in self._types and self._types[x].dtype != "float32":
            minus = self._constant(np.asarray(-1, self._types[x].dtype))
            return self.maximum(x, self.mul(x, minus))
        return super().abs(x)
