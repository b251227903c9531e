"""Matrix products."""

from __future__ import annotations

from benchmarker.graph.attributes import Gemm
from benchmarker.plugins.jax.layout_operators import Arranging
from benchmarker.plugins.jax.tensors import Tensor


class Matrices(Arranging):
    """Matrix products; XLA takes a transposed operand as it stands."""

    def gemm(self, a: Tensor, b: Tensor, c: Tensor | None = None, *, product: Gemm) -> Tensor:
        left, right = self.value(a), self.value(b)
        y = self.jnp.matmul(left.T if product.trans_a else left, right.T if product.trans_b else right)
        if product.alpha != 1.0:
            y = y * product.alpha
        if c is None:
            return Tensor(y)
        shift = self.value(c)
        return Tensor(y + (shift if product.beta == 1.0 else shift * product.beta))

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        return Tensor(self.jnp.matmul(self.plain(a), self.plain(b)))
