"""Shapes of convolutions, poolings and resizing: operators that slide a window or change the spatial axes."""

from __future__ import annotations

from benchmarker.errors import require
from benchmarker.graph.operators import Operators
from benchmarker.graph.shape_checks import require_shape
from benchmarker.graph.types import TensorType
from benchmarker.graph.windows import AveragePooling, MaxPooling, TransposedWindow, Window


class WindowShapes(Operators):
    """Every tensor is its :class:`TensorType`; operators over spatial axes."""

    def conv(
        self, x: TensorType, w: TensorType, b: TensorType | None = None, *, window: Window
    ) -> TensorType:
        require(len(x.shape) >= 3, f"a convolution needs an input N C spatial..., got {x.shape}")
        filters, per_group = w.shape[:2]
        group = window.group
        require(
            group >= 1 and x.shape[1] == per_group * group and filters % group == 0,
            f"a convolution in {group} groups of {x.shape[1]} channels into {filters} filters needs both "
            f"to be multiples of the number of groups",
        )
        if b is not None:
            require_shape("conv", (filters,), b=b)
        return TensorType((x.shape[0], filters, *window.output_sizes(x.shape, w.shape)), x.dtype)

    def conv_transpose(
        self, x: TensorType, w: TensorType, b: TensorType | None = None, *, window: TransposedWindow
    ) -> TensorType:
        sizes, group = window.output_sizes(x.shape, w.shape), window.group
        require(
            group >= 1 and x.shape[1] == w.shape[0] and w.shape[0] % group == 0,
            f"a transposed convolution in {group} groups of {x.shape[1]} channels needs a weight with as many, "
            f"a multiple of the groups; its shape is {w.shape}",
        )
        if b is not None:
            require_shape("conv_transpose", (w.shape[1] * group,), b=b)
        return TensorType((x.shape[0], w.shape[1] * group, *sizes), x.dtype)

    def max_pool(self, x: TensorType, *, window: MaxPooling) -> TensorType:
        return TensorType((*x.shape[:2], *window.output_sizes(x.shape)), x.dtype)

    def average_pool(self, x: TensorType, *, window: AveragePooling) -> TensorType:
        return TensorType((*x.shape[:2], *window.output_sizes(x.shape)), x.dtype)

    def global_average_pool(self, x: TensorType) -> TensorType:
        return TensorType((*x.shape[:2], *(1,) * (len(x.shape) - 2)), x.dtype)

    def resize(self, x: TensorType, *, sizes: tuple[int, ...], mode: str = "nearest") -> TensorType:
        require(
            len(x.shape) == 4 and len(sizes) == 2 and min(sizes) >= 1,
            f"resize needs an input (N, C, H, W) and two sizes of at least 1, got {x.shape} and {sizes}",
        )
        require(mode in ("nearest", "linear"), f"resize: the mode must be nearest or linear, got '{mode}'")
        require(
            mode == "linear" or all(new % old == 0 for new, old in zip(sizes, x.shape[2:])),
            f"resize by nearest needs multiples of the old sizes, got {x.shape[2:]} to {sizes}",
        )
        return TensorType((*x.shape[:2], *sizes), x.dtype)
