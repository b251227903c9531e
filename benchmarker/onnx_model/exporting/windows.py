"""Convolution, pooling and resizing as ONNX nodes."""

from __future__ import annotations

from benchmarker.graph.operators import Tensor
from benchmarker.onnx_model.exporting.nodes import NodeOperators


class WindowOperators(NodeOperators):
    """Windows that slide over images."""

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
        kernel = self._shape(w)[2:]
        return self._add(
            "Conv", x, w, b, kernel_shape=kernel, strides=strides, pads=pads, dilations=dilations, group=group
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
        return self._add(
            "ConvTranspose",
            x,
            w,
            b,
            kernel_shape=self._shape(w)[2:],
            strides=strides,
            pads=pads,
            output_padding=output_padding,
            dilations=dilations,
            group=group,
        )

    def max_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        ceil_mode: bool = False,
    ) -> Tensor:
        return self._add(
            "MaxPool", x, kernel_shape=kernel_shape, strides=strides, pads=pads, ceil_mode=int(ceil_mode)
        )

    def average_pool(
        self,
        x: Tensor,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        count_include_pad: bool = False,
    ) -> Tensor:
        return self._add(
            "AveragePool",
            x,
            kernel_shape=kernel_shape,
            strides=strides,
            pads=pads,
            count_include_pad=int(count_include_pad),
        )

    def global_average_pool(self, x: Tensor) -> Tensor:
        return self._add("GlobalAveragePool", x)

    def resize(self, x: Tensor, *, sizes: tuple[int, ...], mode: str = "nearest") -> Tensor:
        nearest = mode == "nearest"
        return self._add(
            "Resize",
            x,
            None,
            None,
            self._integers(sizes),
            axes=(2, 3),
            mode=mode,
            coordinate_transformation_mode="asymmetric" if nearest else "half_pixel",
            nearest_mode="floor",
        )
