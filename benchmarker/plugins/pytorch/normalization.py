"""Normalization in PyTorch."""

from __future__ import annotations

from benchmarker.graph.operators import Tensor
from benchmarker.plugins.pytorch.tracing import TracedOperators


class NormalizationOperators(TracedOperators):
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
        # PyTorch's momentum is the weight of the new value; the last argument lets cuDNN do it.
        return self._torch.batch_norm(x, scale, b, mean, var, self.training, 1.0 - momentum, epsilon, True)

    def layer_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, axis: int = -1, epsilon: float = 1e-5
    ) -> Tensor:
        return self._torch.layer_norm(x, scale.shape, scale, b, epsilon)

    def group_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, num_groups: int, epsilon: float = 1e-5
    ) -> Tensor:
        return self._torch.group_norm(x, num_groups, scale, b, epsilon)

    def rms_normalization(self, x: Tensor, scale: Tensor, *, epsilon: float = 1e-5) -> Tensor:
        return self._torch.rms_norm(x, scale.shape, scale, epsilon)
