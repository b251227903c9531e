"""The operators as ONNX nodes that IREE imports and computes correctly."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from benchmarker.graph.attributes import Recurrent, Slice
from benchmarker.graph.operators import Operators, Tensor
from benchmarker.graph.windows import TransposedWindow
from benchmarker.plugins.common.onnx.composed import ComposedTanhGelu


class IreeOperators(ComposedTanhGelu):
    """Those of ONNX, except where IREE's importer lacks them or its result is wrong (GELU by tanh is off by 2e-5)."""

    # The importer lacks what came with opset 23, and gets weighted losses wrong; inference needs no losses.
    rms_normalization = Operators.rms_normalization
    rotary_embedding = Operators.rotary_embedding
    softmax_cross_entropy_loss = Operators.softmax_cross_entropy_loss

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
        if is_causal:
            later = self._later(self._shape(q)[2])
            mask = later if mask is None else self.add(mask, later)
        return Operators.attention(self, q, k, v, mask, scale=scale)

    def conv_transpose(
        self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: TransposedWindow
    ) -> Tensor:
        if window.is_symmetric:
            return super().conv_transpose(x, w, b, window=window)
        # The importer takes one pad per axis: compute the whole result and cut the pads off.
        whole = super().conv_transpose(x, w, b, window=replace(window, pads=(0,) * len(window.pads)))
        sizes = window.whole_sizes(self._shape(x), self._shape(w))
        ends = tuple(size - end for size, end in zip(sizes, window.ends))
        return self.slice(whole, taken=Slice(tuple(range(2, 2 + window.rank)), window.begins, ends))

    def resize(self, x: Tensor, *, sizes: tuple[int, ...], mode: str = "nearest") -> Tensor:
        # The importer takes no sizes of some axes only.
        return self._resized(x, (*self._shape(x)[:2], *sizes), mode)

    def scatter_nd(self, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        # A single constant place is stored in too few bytes and read wrongly; the same place twice is not.
        if math.prod(self._shape(indices)[:-1]) == 1 < self._shape(indices)[-1]:
            indices, updates = (self.concat(value, value, axis=0) for value in (indices, updates))
        return super().scatter_nd(x, indices, updates)

    def _recurrent(
        self, kind: str, outputs: int, operands: tuple[Tensor, ...], layer: Recurrent, **attributes: Any
    ) -> tuple[Tensor, ...]:
        if kind == "LSTM" or not layer.is_bidirectional:
            return super()._recurrent(kind, outputs, operands, layer, **attributes)
        # The importer has these layers forward only: the other direction is one over the reversed steps.
        x, *weights = operands
        backwards = self._integers(range(self._shape(x)[0])[::-1])
        if "activations" in attributes:
            attributes["activations"] = attributes["activations"][:1]
        one = replace(layer, direction="forward")
        halves = []
        for place, steps in enumerate((x, self.gather(x, backwards))):
            own = [self.slice(value, taken=Slice((0,), (place,), (place + 1,))) for value in weights]
            y, *last = super()._recurrent(kind, outputs, (steps, *own), one, **attributes)
            halves.append((self.gather(y, backwards) if place else y, *last))
        return tuple(self.concat(*pair, axis=int(number == 0)) for number, pair in enumerate(zip(*halves)))
