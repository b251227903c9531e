"""Matrix products, attention and recurrent layers as ONNX nodes."""

from __future__ import annotations

import numpy as np

from benchmarker.graph.attributes import Gemm, PlainRecurrent, Recurrent
from benchmarker.graph.onnx.writer.nodes import NodeOperators
from benchmarker.graph.operators import Tensor


class ProductOperators(NodeOperators):
    """Matrix products, attention and recurrent layers.

    A sparse product is the dense one: ONNX has no other, and ONNX Runtime's own took 12 times as long.
    """

    def gemm(self, a: Tensor, b: Tensor, c: Tensor | None = None, *, product: Gemm) -> Tensor:
        return self._add(
            "Gemm",
            a,
            b,
            c,
            alpha=float(product.alpha),
            beta=float(product.beta),
            transA=int(product.trans_a),
            transB=int(product.trans_b),
        )

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        return self._add("MatMul", a, b)

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
        if mask is not None:
            mask = self._whole_mask(mask, self._shape(q)[2], self._shape(k)[2])
        return self._add("Attention", q, k, v, mask, scale=float(scale), is_causal=int(is_causal))

    def _whole_mask(self, mask: Tensor, queries: int, keys: int) -> Tensor:
        """Return the mask with its last two axes in full: ONNX Runtime broadcasts only those before them."""
        shape = self._shape(mask)
        if shape[-2:] == (queries, keys):
            return mask
        leading = (1,) * len(shape[:-2])  # Expand leaves alone what is 1 in the shape it is given
        return self._add("Expand", mask, self._integers((*leading, queries, keys)))

    def rotary_embedding(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, _, length, _ = self._shape(x)
        if self._batch is None:
            positions = self._constant(np.tile(np.arange(length), (batch, 1)))
        else:
            one = self._constant(np.arange(length).reshape(1, -1))
            positions = self._add("Expand", one, self._with_batch((1,)))
        return self._add("RotaryEmbedding", x, cos, sin, positions)

    def rnn(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: PlainRecurrent
    ) -> tuple[Tensor, Tensor]:
        function = {"tanh": "Tanh", "relu": "Relu"}[layer.activation]
        return self._recurrent("RNN", 2, (x, w, r, b), layer, activations=[function] * layer.directions)

    def lstm(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: Recurrent
    ) -> tuple[Tensor, Tensor, Tensor]:
        return self._recurrent("LSTM", 3, (x, w, r, b), layer)

    def gru(self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: Recurrent) -> tuple[Tensor, Tensor]:
        return self._recurrent("GRU", 2, (x, w, r, b), layer, linear_before_reset=1)

    def _recurrent(
        self, kind: str, outputs: int, operands: tuple[Tensor, ...], layer: Recurrent, **attributes: object
    ) -> tuple[Tensor, ...]:
        shared = {"hidden_size": layer.hidden_size, "direction": layer.direction}
        found: tuple[Tensor, ...] = self._add(kind, *operands, outputs=outputs, **shared, **attributes)
        return found
