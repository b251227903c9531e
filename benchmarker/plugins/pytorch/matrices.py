"""Matrix products and attention in PyTorch."""

from __future__ import annotations

import math

from benchmarker.graph.attributes import Gemm
from benchmarker.graph.operators import Tensor
from benchmarker.plugins.pytorch.tracing import TracedOperators


def mask_later_keys(scores: Tensor) -> Tensor:
    """Put minus infinity where the key (last axis) comes after the query."""
    return mask_keys(scores, scores.size(-1))


def mask_keys(scores: Tensor, length: int) -> Tensor:
    """Do so to scores that may be broadcast to ``(..., length, length)``."""
    import torch

    later = torch.ones(length, length, dtype=torch.bool, device=scores.device).triu(1)
    return scores.masked_fill(later, -math.inf)


class MatrixOperators(TracedOperators):
    """Products of matrices, and what attention makes of them."""

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        return self._torch.matmul(a, b)

    def sparse_matmul(self, a: Tensor, b: Tensor) -> Tensor:
        """Multiply; the native tensor of ``a`` is sparse where PyTorch can."""
        return self._torch.matmul(a, b)

    def gemm(self, a: Tensor, b: Tensor, c: Tensor | None = None, *, product: Gemm) -> Tensor:
        if product.is_dense and (c is None or product.beta == 1.0):
            return self._functional.linear(a, b, c)
        a = a.t() if product.trans_a else a
        b = b.t() if product.trans_b else b
        if c is not None:
            return self._torch.addmm(c, a, b, beta=product.beta, alpha=product.alpha)
        y = self._torch.mm(a, b)
        return y if product.alpha == 1.0 else y * product.alpha

    def causal_mask(self, x: Tensor) -> Tensor:
        return self._call(mask_later_keys, x)

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
        if mask is not None and is_causal:
            # PyTorch takes the one or the other.
            mask, is_causal = self._call(mask_keys, mask, q.size(2)), False
        return self._functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=is_causal, scale=scale
        )
