"""Convolution and its transpose."""

from __future__ import annotations

from typing import Any

from benchmarker.graph.windows import Pairs, Shape, TransposedWindow, Window
from benchmarker.plugins.jax.layout_operators import Arranging
from benchmarker.plugins.jax.tensors import LAST, Tensor, transposed_filter_layout


class Convolutions(Arranging):
    """Convolution and its transpose, which is a convolution of the image with zeros between its elements."""

    def conv(self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: Window) -> Tensor:
        kernel = self.arrange(w, self.kernel_form)
        return self._convolved(x, kernel, b, window, window.strides, window.pairs)

    def conv_transpose(
        self, x: Tensor, w: Tensor, b: Tensor | None = None, *, window: TransposedWindow
    ) -> Tensor:
        form = transposed_filter_layout(window.group, self.kernel_form)
        kernel = form.decode(w.value).shape[2:] if w.form == form else w.shape[2:]
        axes = zip(kernel, window.dilations, window.pairs, window.output_padding)
        pairs = [((k - 1) * d - begin, (k - 1) * d - end + extra) for k, d, (begin, end), extra in axes]
        ones = (1,) * window.rank
        return self._convolved(x, self.arrange(w, form), b, window, ones, pairs, lhs_dilation=window.strides)

    def _convolved(
        self,
        x: Tensor,
        kernel: Any,
        b: Tensor | None,
        window: Window | TransposedWindow,
        strides: Shape,
        pairs: Pairs,
        **more: Any,
    ) -> Tensor:
        form = self.image_form(x.rank)
        axes = "DHW"[3 - window.rank :]
        names = (f"N{axes}C", f"{axes}IO") if form == LAST else (f"NC{axes}", f"OI{axes}")
        y = self.lax.conv_general_dilated(
            self.image(x),
            kernel,
            strides,
            pairs,
            rhs_dilation=window.dilations,
            dimension_numbers=(*names, names[0]),
            feature_group_count=window.group,
            **more,
        )
        return Tensor(y if b is None else y + self.of_channels(self.value(b), y, form), form)
