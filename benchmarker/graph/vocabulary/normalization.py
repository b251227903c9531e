"""Normalization, softmax, and dropout."""

from __future__ import annotations

from benchmarker.graph.vocabulary.base import Tensor, Vocabulary, primitive


class NormalizationOperators(Vocabulary):
    """Normalization, softmax, and dropout."""

    @primitive
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
        """``scale * (x - mean) / sqrt(var + epsilon) + b`` per channel (ONNX ``BatchNormalization``).

        In training the mean and the biased variance are those of the mini-batch, and the running
        ``mean`` and ``var`` move by ``momentum * old + (1 - momentum) * batch``.
        """
        return self._unsupported("batch_normalization")

    @primitive
    def layer_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, axis: int = -1, epsilon: float = 1e-5
    ) -> Tensor:
        """Normalize over ``axis`` and those after it (ONNX ``LayerNormalization``), biased variance.

        ``scale`` and ``b`` have the shape of those axes.
        """
        return self._unsupported("layer_normalization")

    @primitive
    def group_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, num_groups: int, epsilon: float = 1e-5
    ) -> Tensor:
        """Normalize each of ``num_groups`` groups of channels (ONNX ``GroupNormalization``, opset 21).

        ``x`` is ``(N, C, *spatial)``, ``scale`` and ``b`` are ``(C,)``.
        """
        return self._unsupported("group_normalization")

    @primitive
    def softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        """Softmax along ``axis``."""
        return self._unsupported("softmax")

    @primitive
    def log_softmax(self, x: Tensor, *, axis: int = -1) -> Tensor:
        """Logarithm of the softmax along ``axis``."""
        return self._unsupported("log_softmax")

    @primitive
    def causal_mask(self, x: Tensor) -> Tensor:
        """Scores ``(..., L, L)`` with minus infinity where the key (last axis) comes after the query."""
        return self._unsupported("causal_mask")

    @primitive
    def dropout(self, x: Tensor, *, ratio: float = 0.5) -> Tensor:
        """In training, zero each element with probability ``ratio`` and divide the rest by ``1 - ratio``.

        The mask comes from the framework's own generator. In inference: ``x``.
        """
        return self._unsupported("dropout")
