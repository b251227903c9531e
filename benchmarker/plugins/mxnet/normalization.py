"""Normalization as MXNet symbols."""

from __future__ import annotations

import math

from benchmarker.graph.operators import Tensor
from benchmarker.plugins.mxnet.symbol_operators import SymbolOperators


class NormalizationOperators(SymbolOperators):
    """Normalization over the mini-batch, over features and over groups of channels."""

    def batch_normalization(
        self,
        x: Tensor,
        scale: Tensor,
        b: Tensor,
        mean: Tensor,
        var: Tensor,
        *,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
    ) -> Tensor:
        return self._mx.BatchNorm(
            x, scale, b, mean, var, eps=epsilon, momentum=momentum, fix_gamma=False, use_global_stats=False
        )

    def layer_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, axis: int = -1, epsilon: float = 1e-5
    ) -> Tensor:
        shape = self._shape(x)
        axis %= len(shape)
        if axis == len(shape) - 1:
            return self._mx.LayerNorm(x, scale, b, axis=-1, eps=epsilon)
        # The native operator normalizes over one axis.
        features = math.prod(shape[axis:])
        rows = self._mx.reshape(x, shape=(-1, features))
        weights = (self._mx.reshape(tensor, shape=(features,)) for tensor in (scale, b))
        return self._mx.reshape(self._mx.LayerNorm(rows, *weights, axis=-1, eps=epsilon), shape=shape)

    def group_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, num_groups: int, epsilon: float = 1e-5
    ) -> Tensor:
        shape = self._shape(x)
        channels = shape[1]
        # The native operator scales and shifts groups, not channels.
        if num_groups == channels:
            return self._mx.GroupNorm(x, scale, b, num_groups=num_groups, eps=epsilon)
        ones, zeros = self._full((num_groups,), 1.0), self._full((num_groups,), 0.0)
        y = self._mx.GroupNorm(x, ones, zeros, num_groups=num_groups, eps=epsilon)
        each = (1, channels, *(1,) * (len(shape) - 2))
        y = self._mx.broadcast_mul(y, self._mx.reshape(scale, shape=each))
        return self._mx.broadcast_add(y, self._mx.reshape(b, shape=each))

    def rms_normalization(self, x: Tensor, scale: Tensor, *, epsilon: float = 1e-5) -> Tensor:
        shape = self._shape(x)
        features = shape[-1]
        # The native operator divides by the root of the sum, not of the mean.
        rows = self._mx.reshape(x, shape=(-1, features))
        y = self._mx.L2Normalization(rows, eps=epsilon * features, mode="instance")
        y = self._mx.broadcast_mul(y, scale * math.sqrt(features))
        return self._mx.reshape(y, shape=shape)
