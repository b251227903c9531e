"""Convolutions, pooling and resizing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarker.plugins.jax.arranging import Arranging
from benchmarker.plugins.jax.tensors import LAST, Form, Tensor, spread
from benchmarker.windows import Pairs, ceil_pairs, explicit_pairs, window_counts


class WindowOperators(Arranging):
    """Windows that slide over images."""

    # --- convolutions ------------------------------------------------------------------------

    def conv(
        self,
        x: Tensor,
        w: Tensor,
        b: Tensor | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> Tensor:
        kernel = self.arrange(w, self.kernel_form)
        return self._convolved(
            x, kernel, b, strides, explicit_pairs(pads), rhs_dilation=dilations, feature_group_count=group
        )

    def conv_transpose(
        self,
        x: Tensor,
        w: Tensor,
        b: Tensor | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        output_padding: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> Tensor:
        form = spread(group, self.kernel_form)
        sizes = form.decode(w.value).shape[2:] if w.form == form else w.shape[2:]
        pairs = [
            ((size - 1) * dilation - begin, (size - 1) * dilation - end + extra)
            for size, dilation, (begin, end), extra in zip(
                sizes, dilations, explicit_pairs(pads), output_padding
            )
        ]
        return self._convolved(
            x,
            self.arrange(w, form),
            b,
            (1,) * len(strides),
            pairs,
            lhs_dilation=strides,
            rhs_dilation=dilations,
            feature_group_count=group,
        )

    def _convolved(
        self, x: Tensor, kernel: Any, b: Tensor | None, strides: Sequence[int], pairs: Pairs, **more: Any
    ) -> Tensor:
        form = self.image_form(x.rank)
        axes = "DHW"[3 - len(strides) :]
        names = (f"N{axes}C", f"{axes}IO") if form == LAST else (f"NC{axes}", f"OI{axes}")
        numbers = (names[0], names[1], names[0])
        y = self.lax.conv_general_dilated(
            self.image(x), kernel, strides, pairs, dimension_numbers=numbers, **more
        )
        return Tensor(y if b is None else y + self.of_channels(self.value(b), y, form), form)

    def of_channels(self, values: Any, y: Any, form: Form) -> Any:
        """Return one value a channel so that it broadcasts to ``y``, which stands in ``form``."""
        return values if form == LAST else values.reshape((-1,) + (1,) * (y.ndim - 2))

    # --- pooling -----------------------------------------------------------------------------

    def max_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        ceil_mode: bool = False,
    ) -> Tensor:
        pairs = explicit_pairs(pads)
        if ceil_mode:
            pairs = ceil_pairs(x.shape[2:], kernel_shape, strides, pads)
        y = self._pooled(x, kernel_shape, strides, pairs, self.lax.max, -math.inf)
        return Tensor(y, self.image_form(x.rank))

    def average_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        count_include_pad: bool = False,
    ) -> Tensor:
        form, pairs = self.image_form(x.rank), explicit_pairs(pads)
        y = self._pooled(x, kernel_shape, strides, pairs, self.lax.add, 0.0)
        if count_include_pad or not any(pads):
            return Tensor(y / math.prod(kernel_shape), form)
        counts = self.jnp.asarray(window_counts(x.shape[2:], kernel_shape, strides, pairs), y.dtype)
        return Tensor(y / (counts if form == LAST else LAST.decode(counts)), form)

    def _pooled(
        self,
        x: Tensor,
        kernel_shape: Sequence[int],
        strides: Sequence[int],
        pairs: Pairs,
        function: Any,
        start: float,
    ) -> Any:
        value = self.image(x)
        last = self.image_form(x.rank) == LAST

        def of_all_axes(of_spatial: Sequence[Any], other: Any) -> tuple[Any, ...]:
            return (other, *of_spatial, other) if last else (other, other, *of_spatial)

        return self.lax.reduce_window(
            value,
            np.asarray(start, value.dtype),
            function,
            of_all_axes(kernel_shape, 1),
            of_all_axes(strides, 1),
            of_all_axes(pairs, (0, 0)),
        )

    def global_average_pool(self, x: Tensor) -> Tensor:
        axes = tuple(x.place(axis) for axis in range(2, x.rank))
        return Tensor(self.value(x).mean(axes, keepdims=True), x.form)

    # --- resizing ----------------------------------------------------------------------------

    def resize(self, x: Tensor, *, sizes: tuple[int, ...], mode: str = "nearest") -> Tensor:
        value = self.value(x)
        places = tuple(x.place(axis) for axis in (2, 3))
        if mode == "nearest":
            for place, size in zip(places, sizes):
                value = self.jnp.repeat(value, size // value.shape[place], axis=place)
            return Tensor(value, x.form)
        shape = list(value.shape)
        for place, size in zip(places, sizes):
            shape[place] = size
        return Tensor(self.jax.image.resize(value, shape, "linear", antialias=False), x.form)
