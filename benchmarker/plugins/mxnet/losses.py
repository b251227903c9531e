"""Losses as MXNet symbols."""

from __future__ import annotations

from benchmarker.graph.operators import Tensor
from benchmarker.plugins.mxnet.elementwise import ElementwiseOperators


class LossOperators(ElementwiseOperators):
    """Losses that are not composed of other operators."""

    def softmax_cross_entropy_loss(
        self,
        scores: Tensor,
        labels: Tensor,
        weights: Tensor | None = None,
        *,
        reduction: str = "mean",
        ignore_index: int | None = None,
    ) -> Tensor:
        # MXNet's softmax_cross_entropy is a sum over matrices, five times slower for many classes, and
        # takes no probability to be below 1e-8.
        logs = self.log_softmax(self._exact(scores), axis=1)
        losses = -self._mx.pick(logs, labels, axis=1, mode="clip")
        share = self._share(labels, weights, ignore_index)
        if share is not None:
            losses = self._mx.elemwise_mul(losses, share)
        if reduction == "none":
            return losses
        if reduction == "mean" and share is None:
            return self._mx.mean(losses)
        total = self._mx.sum(losses)
        return total if reduction == "sum" else self._mx.elemwise_div(total, self._mx.sum(share))

    def _share(self, labels: Tensor, weights: Tensor | None, ignored: int | None) -> Tensor | None:
        """Return how much each label counts; nothing if all count the same."""
        share = None if weights is None else self._mx.take(self._exact(weights), labels, mode="clip")
        if ignored is None:
            return share
        counted = self._mx.cast(labels != ignored, dtype="float32")
        return counted if share is None else self._mx.elemwise_mul(share, counted)

    def ctc_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        labels = self._mx.cast(labels, dtype="float32")
        return self._mx.mean(self._mx.CTCLoss(self._exact(scores), labels, blank_label="first"))
