"""Matrix products as MXNet symbols."""

from __future__ import annotations

import numpy as np

from benchmarker.graph.attributes import Gemm
from benchmarker.graph.operators import Tensor
from benchmarker.plugins.mxnet.symbol_operators import SymbolOperators


class MatrixOperators(SymbolOperators):
    """Products of matrices, and the mask of attention.

    ``FullyConnected`` is a oneDNN primitive and ``dot`` is not: it takes half the time (1024 x 768 x 3072
    on two cores: 10 ms, 11 ms with a transposition before it, ``dot`` 19 ms).
    """

    def _times_matrix(self, a: Tensor, b: Tensor, bias: Tensor | None, transposed: bool) -> Tensor:
        """Return ``a @ b + bias`` for a matrix ``b``, which is given ``transposed`` or not."""
        weight = b if transposed else self._transpose(b, (1, 0))
        return self._mx.FullyConnected(
            *(a, weight) if bias is None else (a, weight, bias),
            num_hidden=self._shape(b)[0 if transposed else 1],
            no_bias=bias is None,
            flatten=False,
        )

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        left, right = self._shape(a), self._shape(b)
        if len(right) == 2:
            return self._times_matrix(a, b, None, transposed=False)
        if left[:-2] == right[:-2]:
            return self._batched(a, b)
        batch = np.broadcast_shapes(left[:-2], right[:-2])
        a, b = (self._broadcast(t, (*batch, *shape[-2:])) for t, shape in ((a, left), (b, right)))
        return self._mx.batch_dot(a, b)

    def sparse_matmul(self, a: Tensor, b: Tensor) -> Tensor:
        sparse = a.attr("__storage_type__") is not None
        return self._mx.sparse.dot(a, b) if sparse else self.matmul(a, b)

    def _batched(self, a: Tensor, b: Tensor) -> Tensor:
        left, right = self._swapped_from(a), self._swapped_from(b)
        return self._mx.batch_dot(
            a if left is None else left,
            b if right is None else right,
            transpose_a=left is not None,
            transpose_b=right is not None,
        )

    def gemm(self, a: Tensor, b: Tensor, c: Tensor | None = None, *, product: Gemm) -> Tensor:
        a = self._transpose(a, (1, 0)) if product.trans_a else a
        units = self._shape(b)[0 if product.trans_b else 1]
        if product.alpha == product.beta == 1.0 and (c is None or self._shape(c) == (units,)):
            return self._times_matrix(a, b, c, product.trans_b)
        y = self._times_matrix(a, b, None, product.trans_b)
        y = y if product.alpha == 1.0 else y * product.alpha
        if c is None or product.beta == 0.0:
            return y
        return self._mx.broadcast_add(y, c if product.beta == 1.0 else c * product.beta)

    def causal_mask(self, x: Tensor) -> Tensor:
        length = self._shape(x)[-1]
        later = np.triu(np.full((length, length), -np.inf), k=1)
        return self._mx.broadcast_add(x, self._constant(f"causal{length}", later))
