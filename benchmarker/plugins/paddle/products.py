"""Matrix products, attention and recurrent layers in Paddle."""

from __future__ import annotations

import math

from benchmarker.graph.attributes import Gemm, PlainRecurrent, Recurrent
from benchmarker.graph.operators import Tensor
from benchmarker.plugins.common.layouts import recurrent_layouts
from benchmarker.plugins.paddle.binding import PaddleFunctions

LAYOUTS = recurrent_layouts({"rnn": (0,), "lstm": (0, 2, 3, 1), "gru": (1, 0, 2)})
"""The graph's gates i, o, f, c and z, r, h in Paddle's order i, f, c, o and r, z, h."""


class ProductOperators(PaddleFunctions):
    """Products of matrices, and layers that are made of them."""

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        missing = len(a.shape) - len(b.shape)
        # Paddle cannot go back through a product that is broadcast over axes of which one operand has fewer.
        if missing > 0 and len(b.shape) > 2:
            b = self._paddle.reshape(b, [*(1,) * missing, *b.shape])
        elif missing < 0 and len(a.shape) > 2:
            a = self._paddle.reshape(a, [*(1,) * -missing, *a.shape])
        return self._paddle.matmul(a, b)

    def gemm(self, a: Tensor, b: Tensor, c: Tensor | None = None, *, product: Gemm) -> Tensor:
        plain = product.alpha == 1.0 and product.beta == 1.0
        if plain and not product.trans_a and not product.trans_b:
            return self._functional.linear(a, b, c)
        y = self._paddle.matmul(a, b, product.trans_a, product.trans_b)
        if product.alpha != 1.0:
            y = self._paddle.scale(y, product.alpha)
        if c is None:
            return y
        return self._paddle.add(y, c if product.beta == 1.0 else self._paddle.scale(c, product.beta))

    def causal_mask(self, x: Tensor) -> Tensor:
        return self._paddle.add(x, self._later(x.shape[-1]))

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
        """Compute what ``paddle.nn.MultiHeadAttention`` does; what is fused takes its axes in another order."""
        scores = self._paddle.matmul(self._paddle.scale(q, scale), k, transpose_y=True)
        if mask is not None:
            scores = self._paddle.add(scores, mask)
        if is_causal:
            scores = self.causal_mask(scores)
        return self._paddle.matmul(self._functional.softmax(scores), v)

    def _later(self, length: int) -> Tensor:
        """Return minus infinity where the key (last axis) comes after the query, 0 elsewhere."""
        return self._paddle.triu(self._paddle.full([length, length], -math.inf), 1)

    def rnn(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: PlainRecurrent
    ) -> tuple[Tensor, Tensor]:
        """Return ``y`` and ``y_h``."""
        y, (h,) = self._recurrent(f"RNN_{layer.activation.upper()}", x, (w, r, b), layer, 1)
        return y, h

    def lstm(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: Recurrent
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return ``y``, ``y_h`` and ``y_c``."""
        y, (h, c) = self._recurrent("LSTM", x, (w, r, b), layer, 2)
        return y, h, c

    def gru(self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: Recurrent) -> tuple[Tensor, Tensor]:
        """Return ``y`` and ``y_h``."""
        y, (h,) = self._recurrent("GRU", x, (w, r, b), layer, 1)
        return y, h

    def _recurrent(
        self, kind: str, x: Tensor, weights: tuple[Tensor, Tensor, Tensor], layer: Recurrent, states: int
    ) -> tuple[Tensor, list[Tensor]]:
        """Call the function under ``paddle.nn.LSTM``, which takes the weights of all directions, then the biases."""
        paddle = self._paddle
        w, r, b = (one if isinstance(one, tuple) else (one,) for one in weights)
        all_weights = [*(one for pair in zip(w, r) for one in pair), *b]
        steps, batch, features = x.shape
        count, hidden = layer.directions, layer.hidden_size
        zeros = paddle.zeros([count, batch, hidden], x.dtype)
        y, _, last = paddle._C_ops.rnn(
            x,
            [zeros] * states,
            all_weights,
            None,
            paddle.zeros([0], "uint8"),  # the state of a dropout that there is none of
            0.0,
            layer.is_bidirectional,
            features,
            hidden,
            1,
            kind,
            0,
            not self.training,
        )
        if not layer.is_bidirectional:
            return paddle.unsqueeze(y, 1), last
        return paddle.transpose(paddle.reshape(y, [steps, batch, 2, hidden]), [0, 2, 1, 3]), last
