"""Losses in Paddle."""

from __future__ import annotations

from benchmarker.graph.operators import Tensor
from benchmarker.plugins.paddle.binding import PaddleFunctions

_NEVER = -100
"""What Paddle ignores by default, which is no class."""


class LossOperators(PaddleFunctions):
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
        function, ignored = self._functional.cross_entropy, _NEVER if ignore_index is None else ignore_index
        if reduction == "mean" and weights is None and ignore_index is not None and ignore_index < 0:
            # Paddle's own mean counts labels that are ignored and negative.
            total = function(scores, labels, None, ignored, "sum", axis=1)
            kept = self._paddle.not_equal(labels, self._paddle.full([], ignored, labels.dtype))
            return self._paddle.divide(total, self._paddle.sum(self._paddle.cast(kept, total.dtype)))
        return function(scores, labels, weights, ignored, reduction, axis=1)

    def binary_cross_entropy_loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        if not targets.stop_gradient:
            # Paddle's own has no gradient of the targets.
            return super().binary_cross_entropy_loss(logits, targets)
        return self._functional.binary_cross_entropy_with_logits(logits, targets)

    def mean_squared_error_loss(self, x: Tensor, targets: Tensor) -> Tensor:
        return self._functional.mse_loss(x, targets)

    def ctc_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        steps, batch, _ = scores.shape
        given = self._paddle.full([batch], steps, "int64")
        labelled = self._paddle.full([batch], labels.shape[1], "int64")
        labels = self._paddle.cast(labels, "int32")
        # Paddle's takes scores before the softmax, and its own mean also divides by the length of the labels.
        return self._paddle.mean(self._functional.ctc_loss(scores, labels, given, labelled, reduction="none"))
