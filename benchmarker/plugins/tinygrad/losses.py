"""Losses in tinygrad."""

from __future__ import annotations

from benchmarker.graph.operators import Tensor
from benchmarker.plugins.tinygrad.elementwise import TinygradTensors


class LossOperators(TinygradTensors):
    """Losses, from scores before the softmax or the sigmoid."""

    def softmax_cross_entropy_loss(
        self,
        scores: Tensor,
        labels: Tensor,
        weights: Tensor | None = None,
        *,
        reduction: str = "mean",
        ignore_index: int | None = None,
    ) -> Tensor:
        return scores.log_softmax(1).nll_loss(labels, weights, ignore_index, reduction)

    def binary_cross_entropy_loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        return logits.binary_crossentropy_logits(targets)
