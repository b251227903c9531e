"""Operators with a body in terms of others, which works in every subclass."""

from __future__ import annotations

import math

from benchmarker.graph.vocabulary.base import Tensor, composite
from benchmarker.graph.vocabulary.custom import CustomOperators
from benchmarker.graph.vocabulary.elementwise import ElementwiseOperators
from benchmarker.graph.vocabulary.logic import LogicOperators
from benchmarker.graph.vocabulary.losses import LossOperators
from benchmarker.graph.vocabulary.normalization import NormalizationOperators
from benchmarker.graph.vocabulary.products import ProductOperators
from benchmarker.graph.vocabulary.reductions import ReductionOperators
from benchmarker.graph.vocabulary.shaping import ShapingOperators
from benchmarker.graph.vocabulary.windows import WindowOperators


class Composites(
    WindowOperators,
    ProductOperators,
    ElementwiseOperators,
    LogicOperators,
    NormalizationOperators,
    ReductionOperators,
    ShapingOperators,
    LossOperators,
    CustomOperators,
):
    """Operators that a subclass may write, and need not."""

    @composite
    def flatten(self, x: Tensor) -> Tensor:
        """``(N, ...)`` to ``(N, product of the rest)`` (ONNX ``Flatten`` with axis 1)."""
        return self.reshape(x, shape=(0, -1))

    @composite
    def sparse_matmul(self, a: Tensor, b: Tensor) -> Tensor:
        """Product of matrices ``a (m, k)``, a parameter most of whose elements are 0, and ``b (k, n)``.

        The body is the dense product. A framework with a sparse one brings ``a`` to its form for that
        outside of the timed path.
        """
        return self.matmul(a, b)

    @composite
    def silu(self, x: Tensor) -> Tensor:
        """``x * sigmoid(x)`` (ONNX ``Swish`` with alpha 1)."""
        return self.mul(x, self.sigmoid(x))

    @composite
    def gelu(self, x: Tensor, *, approximate: str = "none") -> Tensor:
        """``x * Phi(x)`` (ONNX ``Gelu``; Hendrycks & Gimpel 2016, arXiv 1606.08415, section 2).

        ``approximate="tanh"`` takes the paper's approximation
        ``0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))``.
        """
        if approximate == "tanh":
            cube = self.mul(x, self.mul(x, x))
            inner = self.add(x, self.affine(cube, alpha=0.044715))
            gate = self.tanh(self.affine(inner, alpha=math.sqrt(2.0 / math.pi)))
        else:
            gate = self.erf(self.affine(x, alpha=math.sqrt(0.5)))
        return self.mul(x, self.affine(gate, alpha=0.5, beta=0.5))

    @composite
    def rms_normalization(self, x: Tensor, scale: Tensor, *, epsilon: float = 1e-5) -> Tensor:
        """``scale * x / sqrt(mean(x^2) + epsilon)`` over the last axis (ONNX ``RMSNormalization``).

        Zhang & Sennrich 2019, arXiv 1910.07467, equation 4.
        """
        mean = self.reduce_mean(self.mul(x, x), axes=(-1,), keepdims=True)
        return self.mul(self.div(x, self.sqrt(self.affine(mean, beta=epsilon))), scale)

    @composite
    def attention(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None = None,
        *,
        scale: float,
        is_causal: bool = False,
    ) -> Tensor:
        """``softmax(scale * q k^T + mask) v`` for each head (ONNX ``Attention``).

        Vaswani et al. 2017, arXiv 1706.03762, equation 1. ``q`` is ``(N, heads, L, d)``, ``k`` is
        ``(N, heads, S, d)``, ``v`` is ``(N, heads, S, e)``; ``mask`` is added and broadcasts to
        ``(N, heads, L, S)``. Returns ``(N, heads, L, e)``.
        """
        scores = self.matmul(self.affine(q, alpha=scale), self.transpose(k, perm=(0, 1, 3, 2)))
        if mask is not None:
            scores = self.add(scores, mask)
        if is_causal:
            scores = self.causal_mask(scores)
        return self.matmul(self.softmax(scores, axis=-1), v)

    @composite
    def rotary_embedding(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Rotate pairs of features by their position (ONNX ``RotaryEmbedding``, not interleaved).

        Su et al. 2021, arXiv 2104.09864, equation 34, with the first and second half of the features as
        pairs. ``x`` is ``(N, heads, L, d)``, ``cos`` and ``sin`` are ``(L, d / 2)``.
        """
        first, second = self.split(x, axis=-1, num_outputs=2)
        real = self.sub(self.mul(first, cos), self.mul(second, sin))
        imaginary = self.add(self.mul(first, sin), self.mul(second, cos))
        return self.concat(real, imaginary, axis=-1)

    @composite
    def binary_cross_entropy_loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Mean of ``-t log sigmoid(x) - (1 - t) log(1 - sigmoid(x))``, from the logits ``x``."""
        return self.reduce_mean(self.sub(self.softplus(logits), self.mul(logits, targets)))

    @composite
    def mean_squared_error_loss(self, x: Tensor, targets: Tensor) -> Tensor:
        """Mean of ``(x - t)^2``."""
        difference = self.sub(x, targets)
        return self.reduce_mean(self.mul(difference, difference))

    @composite
    def huber(self, x: Tensor, *, delta: float = 1.0) -> Tensor:
        """``x^2 / 2`` up to ``delta``, ``delta (|x| - delta / 2)`` beyond, for each element."""
        size = self.abs(x)
        held = self.clip(size, min=0.0, max=delta)
        return self.mul(held, self.sub(size, self.affine(held, alpha=0.5)))
