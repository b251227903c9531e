"""Normalization, softmax and losses as ONNX nodes."""

from __future__ import annotations

import numpy as np

from benchmarker.graph.onnx.writer.nodes import NodeOperators
from benchmarker.graph.operators import Tensor


class NormalizationOperators(NodeOperators):
    """Normalization, softmax, masks and losses."""

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
        return self._add(
            "BatchNormalization", x, scale, b, mean, var, epsilon=float(epsilon), momentum=float(momentum)
        )

    def layer_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, axis: int = -1, epsilon: float = 1e-5
    ) -> Tensor:
        return self._add("LayerNormalization", x, scale, b, axis=axis, epsilon=float(epsilon))

    def group_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, num_groups: int, epsilon: float = 1e-5
    ) -> Tensor:
        # ONNX Runtime takes GroupNormalization apart into 29 nodes, twice as slow as its InstanceNormalization.
        _, channels, *spatial = self._shape(x)
        groups = self._add("Reshape", x, self._integers((0, num_groups, -1)))
        normal = self._add(
            "InstanceNormalization",
            groups,
            self._constant(np.ones(num_groups, self._dtype)),
            self._constant(np.zeros(num_groups, self._dtype)),
            epsilon=float(epsilon),
        )
        images = self._add("Reshape", normal, self._integers((0, channels, *spatial)))
        column = self._integers((channels, *(1 for _ in spatial)))
        scaled = self._add("Mul", images, self._add("Reshape", scale, column))
        return self._add("Add", scaled, self._add("Reshape", b, column))

    def rms_normalization(self, x: Tensor, scale: Tensor, *, epsilon: float = 1e-5) -> Tensor:
        return self._add("RMSNormalization", x, scale, axis=-1, epsilon=float(epsilon))

    def softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        return self._add("Softmax", x, axis=axis)

    def log_softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        return self._add("LogSoftmax", x, axis=axis)

    def causal_mask(self, x: Tensor) -> Tensor:
        return self._add("Add", x, self._later(self._shape(x)[-1]))

    def _later(self, length: int) -> Tensor:
        """Return what is added to scores: minus infinity where the key comes after the query."""
        return self._constant(np.triu(np.full((length, length), -np.inf, self._dtype), 1))

    def softmax_cross_entropy_loss(
        self,
        scores: Tensor,
        labels: Tensor,
        weights: Tensor | None = None,
        *,
        reduction: str = "mean",
        ignore_index: int | None = None,
    ) -> Tensor:
        ignored = {} if ignore_index is None else {"ignore_index": ignore_index}
        return self._add("SoftmaxCrossEntropyLoss", scores, labels, weights, reduction=reduction, **ignored)
