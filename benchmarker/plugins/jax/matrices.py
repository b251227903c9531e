"""Matrix products."""

from __future__ import annotations

from benchmarker.plugins.jax.arranging import Arranging
from benchmarker.plugins.jax.tensors import Tensor


class Matrices(Arranging):
    """Matrix products; XLA takes a transposed operand as it stands."""

    def gemm(
        self,
        a: Tensor,
        b: Tensor,
        c: Tensor | None = None,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        trans_a: bool = False,
        trans_b: bool = False,
    ) -> Tensor:
        left, right = self.value(a), self.value(b)
        y = self.jnp.matmul(left.T if trans_a else left, right.T if trans_b else right)
        if alpha != 1.0:
            y = y * alpha
        if c is None:
            return Tensor(y)
        shift = self.value(c)
        return Tensor(y + (shift if beta == 1.0 else shift * beta))

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        return Tensor(self.jnp.matmul(self.plain(a), self.plain(b)))
