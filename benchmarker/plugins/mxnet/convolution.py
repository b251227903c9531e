"""Convolution and its transpose as MXNet symbols."""

from __future__ import annotations

from benchmarker.graph.operators import Tensor
from benchmarker.graph.windows import TransposedWindow, Window
from benchmarker.plugins.mxnet.symbol_operators import SymbolOperators


class ConvolutionOperators(SymbolOperators):
    """Convolutions of ``(N, C, *spatial)``."""

    def conv(self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: Window) -> Tensor:
        filters, _, *kernel = self._shape(w)
        padding = window.begins
        if not window.is_symmetric:
            x, padding = self._pad_spatial(x, window.pairs, 0.0), (0,) * window.rank
        return self._mx.Convolution(
            *(x, w) if b is None else (x, w, b),
            kernel=tuple(kernel),
            stride=window.strides,
            dilate=window.dilations,
            pad=padding,
            num_filter=filters,
            num_group=window.group,
            no_bias=b is None,
        )

    def conv_transpose(
        self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: TransposedWindow
    ) -> Tensor:
        _, filters, *kernel = self._shape(w)
        both = tuple(map(min, window.pairs))
        y = self._mx.Deconvolution(
            *(x, w) if b is None else (x, w, b),
            kernel=tuple(kernel),
            stride=window.strides,
            dilate=window.dilations,
            pad=both,
            adj=window.output_padding,
            num_filter=filters * window.group,
            num_group=window.group,
            no_bias=b is None,
        )
        for axis, ((begin, end), cut) in enumerate(zip(window.pairs, both), start=2):
            if begin != end:
                y = self._mx.slice_axis(y, axis=axis, begin=begin - cut, end=(cut - end) or None)
        return y
