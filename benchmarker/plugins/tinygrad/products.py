"""Matrix products, attention, recurrent layers and normalization in tinygrad."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from benchmarker.graph.attributes import Gemm, PlainRecurrent, Recurrent
from benchmarker.graph.operators import Tensor
from benchmarker.plugins.tinygrad.elementwise import ElementwiseOperators, calling

States = tuple[Any, ...]
Cell = Callable[[Any, Any, States], States]
"""Takes what comes from a step's input and from the state before it, and that state."""


class ProductOperators(ElementwiseOperators):
    """Products of matrices, and layers that are made of them."""

    matmul = calling("matmul")

    def gemm(self, a: Tensor, b: Tensor, c: Tensor | None = None, *, product: Gemm) -> Tensor:
        y = (a.transpose() if product.trans_a else a) @ (b.transpose() if product.trans_b else b)
        y = self.affine(y, alpha=product.alpha)
        return y if c is None else y + self.affine(c, alpha=product.beta)

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
        usual = math.isclose(scale, 1.0 / math.sqrt(q.shape[-1]), rel_tol=1e-6)
        if usual and not (is_causal and mask is not None):
            return q.scaled_dot_product_attention(k, v, mask, is_causal=is_causal)
        return super().attention(q, k, v, mask, scale=scale, is_causal=is_causal)

    def rnn(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: PlainRecurrent
    ) -> tuple[Tensor, Tensor]:
        """Return ``y`` and ``y_h``."""
        function = {"tanh": self.tanh, "relu": self.relu}[layer.activation]
        y, (h,) = self._layer(x, w, r, b, layer, 1, lambda z, s, state: (function(z + s),))
        return y, h

    def lstm(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: Recurrent
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return ``y``, ``y_h`` and ``y_c``."""

        def cell(z: Any, s: Any, state: States) -> States:
            i, o, f, g = (z + s).chunk(4, 1)
            c = (self.sigmoid(f) * state[1] + self.sigmoid(i) * self.tanh(g)).contiguous()
            return self.sigmoid(o) * self.tanh(c), c

        y, (h, c) = self._layer(x, w, r, b, layer, 2, cell)
        return y, h, c

    def gru(self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: Recurrent) -> tuple[Tensor, Tensor]:
        """Return ``y`` and ``y_h``."""

        def cell(z: Any, s: Any, state: States) -> States:
            (zz, zr, zn), (sz, sr, sn) = z.chunk(3, 1), s.chunk(3, 1)
            n = self.tanh(zn + self.sigmoid(zr + sr) * sn)
            return (n + self.sigmoid(zz + sz) * (state[0] - n),)

        y, (h,) = self._layer(x, w, r, b, layer, 1, cell)
        return y, h

    def _layer(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, layer: Recurrent, states: int, cell: Cell
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Run each direction step by step; tinygrad has cells, and no layers."""
        steps, batch, _ = x.shape
        sequences, ends = [], []
        for direction in range(layer.directions):
            of_input, of_state = b[direction].chunk(2, 0)
            given = (x @ w[direction].transpose() + of_input).contiguous()
            state: States = (self._tensor.zeros(batch, layer.hidden_size, buffer=False),) * states
            found: list[Any] = [None] * steps
            for step in reversed(range(steps)) if direction else range(steps):
                state = cell(given[step], state[0] @ r[direction].transpose() + of_state, state)
                # Each is computed once, and not again in all that is made of it.
                state = (state[0].contiguous(), *state[1:])
                found[step] = state[0]
            sequences.append(found[0].stack(*found[1:], dim=0))
            ends.append(state)
        stacked = tuple(each[0].stack(*each[1:], dim=0) for each in zip(*ends))
        return sequences[0].stack(*sequences[1:], dim=1), stacked


class NormalizationOperators(ElementwiseOperators):
    """Batch, layer and group normalization.

    Attributes
    ----------
    updates : dict
        By the ``id`` of each running statistic it, and what it becomes after the step.
    """

    def __init__(self, *, training: bool = False, dropout: bool = True) -> None:
        super().__init__(training=training, dropout=dropout)
        self.updates: dict[int, tuple[Any, Any]] = {}

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
        centre, variance = mean, var
        if self.training:
            axes = (0, *range(2, x.ndim))
            # As tinygrad's own layer, but for the variance, which moves it by the unbiased one.
            centre, variance = x.mean(axes), x.var(axes, correction=0)
            self._move(mean, centre, momentum)
            self._move(var, variance, momentum)
        return x.batchnorm(scale, b, centre, (variance + epsilon).rsqrt())

    def _move(self, statistic: Any, batch: Any, momentum: float) -> None:
        """Move a running statistic on from where the layer's uses before this one in the step left it."""
        old = self.updates.get(id(statistic), (statistic, statistic))[1]
        self.updates[id(statistic)] = (statistic, momentum * old + (1.0 - momentum) * batch.detach())

    def layer_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, axis: int = -1, epsilon: float = 1e-5
    ) -> Tensor:
        return x.layernorm(tuple(range(axis % x.ndim, x.ndim)), epsilon) * scale + b

    def group_normalization(
        self, x: Tensor, scale: Tensor, b: Tensor, *, num_groups: int, epsilon: float = 1e-5
    ) -> Tensor:
        normal = x.reshape(x.shape[0], num_groups, -1).layernorm(-1, epsilon).reshape(x.shape)
        channels = (-1, *(1,) * (x.ndim - 2))
        return normal * scale.reshape(channels) + b.reshape(channels)
