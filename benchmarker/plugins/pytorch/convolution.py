"""Convolution and its transpose in PyTorch."""

from __future__ import annotations

from benchmarker.graph.operators import Tensor
from benchmarker.graph.windows import TransposedWindow, Window
from benchmarker.plugins.pytorch.tracing import TracedOperators, pad_argument


class ConvolutionOperators(TracedOperators):
    """Convolutions of ``(N, C, *spatial)``."""

    def conv(self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: Window) -> Tensor:
        function = self._by_rank(self._torch, "conv", window.rank)
        padding = window.begins
        if not window.is_symmetric:
            x = self._functional.pad(x, pad_argument(window.pairs))
            padding = (0,) * window.rank
        return function(x, w, b, window.strides, padding, window.dilations, window.group)

    def conv_transpose(
        self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: TransposedWindow
    ) -> Tensor:
        function = self._by_rank(self._torch, "conv_transpose", window.rank)
        padding = tuple(map(min, window.pairs))
        # Groups come before dilations here, and after them in a convolution.
        extra = window.output_padding
        y = function(x, w, b, window.strides, padding, extra, window.group, window.dilations)
        if window.is_symmetric:
            return y
        pairs = zip(window.pairs, padding)
        cut = tuple(slice(begin - pad or None, pad - end or None) for (begin, end), pad in pairs)
        return y[(slice(None), slice(None), *cut)]
