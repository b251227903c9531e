"""Losses in PyTorch."""

from __future__ import annotations

from benchmarker.graph.operators import Tensor
from benchmarker.plugins.pytorch.tracing import TracedOperators

_NEVER = -100
"""What PyTorch ignores by default, which is no class."""


def mean_ctc_loss(log_probabilities: Tensor, labels: Tensor) -> Tensor:
    """Connectionist temporal classification of sequences of full length, averaged over the mini-batch."""
    import torch

    steps, batch = log_probabilities.shape[:2]
    # PyTorch's own mean also divides by the length of the labels.
    losses = torch.nn.functional.ctc_loss(
        log_probabilities, labels, (steps,) * batch, (labels.size(1),) * batch, reduction="none"
    )
    return losses.mean()


class LossOperators(TracedOperators):
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
        ignored = _NEVER if ignore_index is None else ignore_index
        return self._functional.cross_entropy(
            scores, labels, weights, ignore_index=ignored, reduction=reduction
        )

    def binary_cross_entropy_loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        return self._functional.binary_cross_entropy_with_logits(logits, targets)

    def mean_squared_error_loss(self, x: Tensor, targets: Tensor) -> Tensor:
        return self._functional.mse_loss(x, targets)

    def ctc_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        # PyTorch has no such loss in half precision.
        dtype = self._torch.float32 if self._dtype.itemsize == 2 else None
        return self._call(mean_ctc_loss, self._torch.log_softmax(scores, -1, dtype=dtype), labels)
