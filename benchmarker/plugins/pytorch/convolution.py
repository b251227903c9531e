"""Convolution and its transpose in PyTorch."""

from __future__ import annotations

import os
from typing import Any

from benchmarker.graph.operators import Tensor
from benchmarker.graph.windows import TransposedWindow, Window
from benchmarker.plugins.pytorch.tracing import TracedOperators, pad_argument, shape_of

_WIDE_VECTORS = ("AVX512", "AVX10")
_FEW_CHANNELS = 8
"""Of a vector of AVX2."""


def has_wide_vectors(torch: Any) -> bool:
    """Tell whether oneDNN has the kernels of processors with AVX-512; its own variable may forbid them."""
    allowed = os.environ.get("ONEDNN_MAX_CPU_ISA", "").upper()
    if allowed not in ("", "ALL", "DEFAULT"):
        return allowed.startswith(_WIDE_VECTORS)
    return bool(torch.backends.cpu.get_cpu_capability().startswith(_WIDE_VECTORS))


class ConvolutionOperators(TracedOperators):
    """Convolutions of ``(N, C, *spatial)``."""

    def conv(self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: Window) -> Tensor:
        function = self._by_rank(self._torch, "conv", window.rank)
        padding = window.begins
        if not window.is_symmetric:
            x = self._functional.pad(x, pad_argument(window.pairs))
            padding = (0,) * window.rank
        strides = window.strides
        if self._writes_beyond(x, w, window):
            x = x[(slice(None), slice(None), *(slice(None, None, stride) for stride in strides))]
            strides = (1,) * window.rank
        return function(x, w, b, strides, padding, window.dilations, window.group)

    def _writes_beyond(self, x: Tensor, w: Tensor, window: Window) -> bool:
        """Tell whether oneDNN's gradient of the weights would overwrite other memory.

        Its kernel of AVX2 for windows of one element does where it skips elements and a whole vector is wider than
        the channels (oneDNN of PyTorch 2.13).
        """
        values, weights = shape_of(x.node), shape_of(w.node)
        if values is None or weights is None or values[1] >= _FEW_CHANNELS:
            return False
        skips = max(weights[2:]) == 1 and max(window.strides) > 1 and not window.is_padded
        return skips and not has_wide_vectors(self._torch)

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
