"""Shapes of convolutions, poolings and resizing: operators that slide a window or change the spatial axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarker.graph.operators import Operators
from benchmarker.graph.requirements import require, require_shape
from benchmarker.graph.types import TensorType


def halves(pads: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the begins and the ends of ``pads``."""
    rank = len(pads) // 2
    return tuple(pads[:rank]), tuple(pads[rank:])


def _window_output(
    x: TensorType,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    ceil_mode: bool = False,
) -> tuple[int, ...]:
    """Return the spatial output shape of a sliding window (ONNX ``Conv``/``MaxPool``, explicit pads)."""
    spatial = x.shape[2:]
    rank = len(spatial)
    lengths = (len(kernel), len(strides), len(dilations), len(pads) // 2)
    require(
        lengths == (rank,) * 4 and len(pads) == 2 * rank,
        f"a window over input {x.shape} needs {rank} kernel sizes, strides and dilations and {2 * rank} pads, "
        f"got kernel {tuple(kernel)}, strides {tuple(strides)}, dilations {tuple(dilations)}, pads {tuple(pads)}",
    )
    require(
        min((*kernel, *strides, *dilations), default=1) >= 1 and min(pads, default=0) >= 0,
        f"kernel, strides and dilations must be at least 1 and pads at least 0, got kernel {tuple(kernel)}, "
        f"strides {tuple(strides)}, dilations {tuple(dilations)}, pads {tuple(pads)}",
    )
    sizes = []
    for axis in range(rank):
        begin, end = pads[axis], pads[rank + axis]
        covered = (kernel[axis] - 1) * dilations[axis] + 1
        room = spatial[axis] + begin + end - covered
        require(
            room >= 0,
            f"a window of {covered} does not fit an axis of size {spatial[axis]} padded by {begin} and {end}; "
            "make the input larger or the kernel smaller",
        )
        size = room // strides[axis] + 1
        if ceil_mode:
            size = math.ceil(room / strides[axis]) + 1
            if (size - 1) * strides[axis] >= spatial[axis] + begin:
                size -= 1
        sizes.append(size)
    return tuple(sizes)


class WindowShapes(Operators):
    """Every tensor is its :class:`TensorType`; operators over spatial axes."""

    def conv(
        self,
        x: TensorType,
        w: TensorType,
        b: TensorType | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> TensorType:
        require(len(x.shape) >= 3, f"a convolution needs an input N C spatial..., got {x.shape}")
        filters, per_group = w.shape[:2]
        require(
            group >= 1 and x.shape[1] == per_group * group and filters % group == 0,
            f"a convolution in {group} groups of {x.shape[1]} channels into {filters} filters needs both "
            f"to be multiples of the number of groups",
        )
        if b is not None:
            require_shape("conv", (filters,), b=b)
        spatial = _window_output(x, w.shape[2:], strides, pads, dilations)
        return TensorType((x.shape[0], filters, *spatial), x.dtype)

    def conv_transpose(
        self,
        x: TensorType,
        w: TensorType,
        b: TensorType | None = None,
        *,
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        output_padding: tuple[int, ...],
        dilations: tuple[int, ...],
        group: int = 1,
    ) -> TensorType:
        rank = len(x.shape) - 2
        lengths = (len(w.shape) - 2, len(strides), len(dilations), len(output_padding), len(pads) // 2)
        require(
            rank >= 1 and lengths == (rank,) * 5 and len(pads) == 2 * rank,
            f"a transposed convolution of {x.shape} needs {rank} kernel sizes, strides, dilations and output "
            f"paddings and {2 * rank} pads",
        )
        require(
            min((*w.shape[2:], *strides, *dilations)) >= 1 and min(pads) >= 0,
            f"kernel, strides and dilations must be at least 1 and pads at least 0, got kernel {w.shape[2:]}, "
            f"strides {strides}, dilations {dilations}, pads {pads}",
        )
        require(
            group >= 1 and x.shape[1] == w.shape[0] and w.shape[0] % group == 0,
            f"a transposed convolution in {group} groups of {x.shape[1]} channels needs a weight of as many, "
            f"and a multiple of the groups; its shape is {w.shape}",
        )
        if b is not None:
            require_shape("conv_transpose", (w.shape[1] * group,), b=b)
        require(
            all(0 <= extra < max(s, d) for extra, s, d in zip(output_padding, strides, dilations)),
            f"output padding {output_padding} must be smaller than stride {strides} or dilation {dilations}",
        )
        sizes = tuple(
            strides[i] * (x.shape[2 + i] - 1)
            + output_padding[i]
            + (w.shape[2 + i] - 1) * dilations[i]
            + 1
            - pads[i]
            - pads[rank + i]
            for i in range(rank)
        )
        require(
            min(sizes) >= 1, f"a transposed convolution of {x.shape} by {w.shape} leaves nothing: {sizes}"
        )
        return TensorType((x.shape[0], w.shape[1] * group, *sizes), x.dtype)

    def max_pool(
        self,
        x: TensorType,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        ceil_mode: bool = False,
    ) -> TensorType:
        ones = (1,) * len(kernel_shape)
        spatial = _window_output(x, kernel_shape, strides, pads, ones, ceil_mode)
        return TensorType((*x.shape[:2], *spatial), x.dtype)

    def average_pool(
        self,
        x: TensorType,
        *,
        kernel_shape: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        count_include_pad: bool = False,
    ) -> TensorType:
        ones = (1,) * len(kernel_shape)
        return TensorType((*x.shape[:2], *_window_output(x, kernel_shape, strides, pads, ones)), x.dtype)

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
