"""Matrix products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarker.graph.attributes import Gemm
from benchmarker.plugins.common.axis_orders import Order, graph_order
from benchmarker.plugins.tensorflow.layout_operators import Arranging
from benchmarker.plugins.tensorflow.tensors import Tensor


class Matrices(Arranging):
    """Matrix products; an operand that stands transposed is taken so, not turned."""

    def gemm(self, a: Tensor, b: Tensor, c: Tensor | None = None, *, product: Gemm) -> Tensor:
        if a.columns != b.columns or product.trans_a or not product.trans_b:
            a, b = self.settled(a), self.settled(b)
        y = self.tf.matmul(
            self.value(a),
            self.value(b),
            transpose_a=product.trans_a != (a.order == (1, 0)),
            transpose_b=product.trans_b != (b.order == (1, 0)),
        )
        if product.alpha != 1.0:
            y = y * product.alpha
        if c is not None:
            shift = self.plain(c)
            shift = shift if product.beta == 1.0 else shift * product.beta
            columns = int(y.shape[1])
            # Its optimizer takes the sum with one row for a bias, and refuses it for its two axes.
            whole = c.shape in ((columns,), (1, columns))
            y = self.biased(y, self.tf.reshape(shift, (columns,))) if whole else y + shift
        return Tensor(y, (0, 1))

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        a, b = self.settled(a), self.settled(b)
        if a.rank > 2 and b.rank == 2:
            return self._rows_by_matrix(self.innermost(a), b)
        left, transpose_a = self._matrices(a)
        right, transpose_b = self._matrices(b)
        y = self.tf.matmul(left, right, transpose_a=transpose_a, transpose_b=transpose_b)
        return Tensor(y, graph_order(max(a.rank, b.rank)))

    def sparse_matmul(self, a: Tensor, b: Tensor) -> Tensor:
        if not isinstance(a.value, self.tf.SparseTensor):
            return self.matmul(a, b)
        return Tensor(self.tf.sparse.sparse_dense_matmul(a.value, self.plain(b)), graph_order(2))

    def _rows_by_matrix(self, a: Tensor, b: Tensor) -> Tensor:
        """Multiply all rows at once: broadcasting would sum one gradient of ``b`` a matrix of ``a``."""
        value = self.value(a)
        *outer, inner = (int(size) for size in value.shape)
        rows = self.tf.reshape(value, (math.prod(outer), inner))
        y = self.tf.matmul(rows, self.value(b), transpose_b=b.order == (1, 0))
        return Tensor(self.tf.reshape(y, (*outer, b.shape[1])), a.order)

    def _matrices(self, x: Tensor) -> tuple[Any, bool]:
        """Return ``x`` with the axes of its matrices innermost, and whether they stand transposed."""
        order: Order = graph_order(x.rank)
        turned = x.order.index(x.rank - 1) < x.order.index(x.rank - 2)
        if turned:
            order = (*order[:-2], order[-1], order[-2])
        return self.arrange(x, order), turned

    def causal_mask(self, x: Tensor) -> Tensor:
        value = self.plain(x)
        length = x.shape[-1]
        seen = np.tril(np.ones((length, length), np.bool_))
        return Tensor(
            self.tf.where(seen, value, self.tf.constant(-math.inf, value.dtype)), graph_order(x.rank)
        )
