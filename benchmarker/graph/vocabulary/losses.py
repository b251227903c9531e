"""Losses that frameworks write themselves."""

from __future__ import annotations

from benchmarker.graph.vocabulary.base import Tensor, Vocabulary, primitive


class LossOperators(Vocabulary):
    """Losses that frameworks write themselves."""

    @primitive
    def softmax_cross_entropy_loss(
        self,
        scores: Tensor,
        labels: Tensor,
        weights: Tensor | None = None,
        *,
        reduction: str = "mean",
        ignore_index: int | None = None,
    ) -> Tensor:
        """``-log softmax(scores)[label]`` (ONNX ``SoftmaxCrossEntropyLoss``).

        ``scores`` is ``(N, C, ...)``, ``labels`` is ``(N, ...)`` int64, ``weights`` is ``(C,)``. ``none``
        returns a loss for each label, 0 where it is ``ignore_index``; ``sum`` their sum; ``mean`` that
        divided by the weights of the labels that are not ignored, or by their number.
        """
        return self._unsupported("softmax_cross_entropy_loss")

    @primitive
    def ctc_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        """Mean over the mini-batch of ``-log p(labels)`` under connectionist temporal classification.

        Graves et al. 2006, equation 15. ``scores`` is ``(T, N, C)`` before the softmax over ``C``, class 0
        is the blank; ``labels`` is ``(N, S)`` int64 without blanks. Every sequence has its full length,
        so each must fit: ``S`` plus its repeated neighbours is at most ``T``.
        """
        return self._unsupported("ctc_loss")
