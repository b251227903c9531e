"""Windows that slide over the spatial axes of a tensor: the attributes of convolutions and poolings as records.

Each knows what follows from its fields: pads by the axis, sizes of the result, whether padding is that of ``SAME``.
Shapes are whole ones, ``(N, C, *spatial)`` and for weights ``(..., ..., *kernel)``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

from benchmarker.errors import require
from benchmarker.quick_dataclass import dataclass

Shape = tuple[int, ...]
Pairs = list[tuple[int, int]]
"""What is added before and after each axis."""


def halves(pads: Sequence[int]) -> tuple[Shape, Shape]:
    """Return the begins and the ends of ``pads``."""
    rank = len(pads) // 2
    return tuple(pads[:rank]), tuple(pads[rank:])


def axis_pairs(pads: Sequence[int]) -> Pairs:
    """Return ``pads``, all begins then all ends, as one pair per axis."""
    return list(zip(*halves(pads)))


class _Strided:
    """What follows from strides and pads alone."""

    strides: Shape
    pads: Shape

    @property
    def rank(self) -> int:
        """Number of spatial axes."""
        return len(self.strides)

    @cached_property
    def begins(self) -> Shape:
        """Pads before each axis."""
        return halves(self.pads)[0]

    @cached_property
    def ends(self) -> Shape:
        """Pads after each axis."""
        return halves(self.pads)[1]

    @cached_property
    def pairs(self) -> Pairs:
        """Pads before and after each axis."""
        return axis_pairs(self.pads)

    @cached_property
    def is_padded(self) -> bool:
        """Whether there is any padding."""
        return any(self.pads)

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether each axis has as much padding before as after it."""
        return self.begins == self.ends


@dataclass(frozen=True)
class Window(_Strided):
    """The window of a convolution (ONNX ``Conv``).

    Parameters
    ----------
    strides : tuple of int
        Steps between windows, one per axis (ONNX ``strides``).
    pads : tuple of int
        Zeros before each spatial axis, then those after each (ONNX ``pads``).
    dilations : tuple of int
        Steps between the elements of a window, one per axis (ONNX ``dilations``).
    group : int
        Into how many groups channels and filters are divided (ONNX ``group``).
    """

    strides: Shape
    pads: Shape
    dilations: Shape
    group: int = 1

    def output_sizes(self, x: Shape, w: Shape) -> Shape:
        """Return the spatial sizes of the result for an input and a weight of these shapes.

        Raises
        ------
        UsageError
            If the numbers of axes differ, a number is out of bounds, or the window does not fit.
        """
        return _output_sizes(x, w[2:], self.strides, self.pads, self.dilations)

    def is_same(self, x: Shape, w: Shape) -> bool:
        """Return whether there is padding, and it is what ``SAME`` gives each axis."""
        return self.is_padded and self.pairs == same_pairs(x[2:], w[2:], self.strides, self.dilations)


@dataclass(frozen=True)
class TransposedWindow(_Strided):
    """The window of a transposed convolution (ONNX ``ConvTranspose``).

    Parameters
    ----------
    strides : tuple of int
        Steps between windows in the result, one per axis (ONNX ``strides``).
    pads : tuple of int
        What is cut off before each spatial axis of the result, then after each (ONNX ``pads``).
    output_padding : tuple of int
        Zeros that each axis of the result has more at its end (ONNX ``output_padding``).
    dilations : tuple of int
        Steps between the elements of a window, one per axis (ONNX ``dilations``).
    group : int
        Into how many groups channels and filters are divided (ONNX ``group``).
    """

    strides: Shape
    pads: Shape
    output_padding: Shape
    dilations: Shape
    group: int = 1

    def reached_sizes(self, x: Shape, w: Shape) -> Shape:
        """Return the spatial sizes that the windows reach, without padding of either kind."""
        sizes = zip(x[2:], w[2:], self.strides, self.dilations)
        return tuple(s * (n - 1) + (k - 1) * d + 1 for n, k, s, d in sizes)

    def whole_sizes(self, x: Shape, w: Shape) -> Shape:
        """Return the spatial sizes of the result before the pads are cut off."""
        return tuple(size + extra for size, extra in zip(self.reached_sizes(x, w), self.output_padding))

    def output_sizes(self, x: Shape, w: Shape) -> Shape:
        """Return the spatial sizes of the result for an input and a weight of these shapes.

        Raises
        ------
        UsageError
            If the numbers of axes differ, a number is out of bounds, or nothing is left.
        """
        self._check(x, w)
        whole = self.whole_sizes(x, w)
        sizes = tuple(size - begin - end for size, (begin, end) in zip(whole, self.pairs))
        require(min(sizes) >= 1, f"a transposed convolution of {x} by {w} leaves nothing: {sizes}")
        return sizes

    def is_same(self, x: Shape, w: Shape) -> bool:
        """Return whether this is the gradient of a convolution padded, by what ``SAME`` gives each axis."""
        sizes = self.output_sizes(x, w)
        windows = [-(-size // stride) for size, stride in zip(sizes, self.strides)]
        same = self.pairs == same_pairs(sizes, w[2:], self.strides, self.dilations)
        return self.is_padded and same and windows == list(x[2:])

    def _check(self, x: Shape, w: Shape) -> None:
        rank = len(x) - 2
        lengths = (len(w) - 2, len(self.strides), len(self.dilations), len(self.output_padding))
        require(
            rank >= 1 and lengths == (rank,) * 4 and len(self.pads) == 2 * rank,
            f"a transposed convolution of {x} needs {rank} kernel sizes, strides, dilations and output "
            f"paddings and {2 * rank} pads",
        )
        _check_bounds(w[2:], self.strides, self.dilations, self.pads)
        bounds = map(max, self.strides, self.dilations)
        require(
            all(0 <= extra < bound for extra, bound in zip(self.output_padding, bounds)),
            f"output padding {self.output_padding} must be smaller than stride {self.strides} or dilation "
            f"{self.dilations}",
        )


class _Pooling(_Strided):
    """What the windows of both poolings share."""

    kernel_shape: Shape

    @cached_property
    def kernel_elements(self) -> int:
        """Number of elements of a whole window."""
        return math.prod(self.kernel_shape)

    @property
    def dilations(self) -> Shape:
        """Steps between the elements of a window, 1 along each axis: poolings have no others."""
        return (1,) * len(self.kernel_shape)


@dataclass(frozen=True)
class MaxPooling(_Pooling):
    """The window of a maximum pooling (ONNX ``MaxPool``).

    Parameters
    ----------
    kernel_shape : tuple of int
        Sizes of the window, one per axis (ONNX ``kernel_shape``).
    strides : tuple of int
        Steps between windows, one per axis (ONNX ``strides``).
    pads : tuple of int
        Padding before each spatial axis, then after each (ONNX ``pads``).
    ceil_mode : bool
        Whether a last window may reach beyond the padding, if it does not begin there (ONNX ``ceil_mode``).
    """

    kernel_shape: Shape
    strides: Shape
    pads: Shape
    ceil_mode: bool = False

    def output_sizes(self, x: Shape) -> Shape:
        """Return the spatial sizes of the result for an input of this shape.

        Raises
        ------
        UsageError
            If the numbers of axes differ, a number is out of bounds, or the window does not fit.
        """
        return _output_sizes(x, self.kernel_shape, self.strides, self.pads, self.dilations, self.ceil_mode)

    def covering_pairs(self, x: Shape) -> Pairs:
        """Return the pads with which windows rounded down are those of ``ceil_mode``."""
        if not self.ceil_mode:
            return self.pairs
        axes = zip(x[2:], self.output_sizes(x), self.kernel_shape, self.strides, self.begins)
        return [(begin, max((out - 1) * s + k - n - begin, 0)) for n, out, k, s, begin in axes]

    def is_same(self, x: Shape) -> bool:
        """Return whether there is padding, and with ``ceil_mode`` it is what ``SAME`` gives each axis."""
        pairs = self.covering_pairs(x)
        same = pairs == same_pairs(x[2:], self.kernel_shape, self.strides, self.dilations)
        return same and any(map(any, pairs))


@dataclass(frozen=True)
class AveragePooling(_Pooling):
    """The window of an average pooling (ONNX ``AveragePool``).

    Parameters
    ----------
    kernel_shape : tuple of int
        Sizes of the window, one per axis (ONNX ``kernel_shape``).
    strides : tuple of int
        Steps between windows, one per axis (ONNX ``strides``).
    pads : tuple of int
        Padding before each spatial axis, then after each (ONNX ``pads``).
    count_include_pad : bool
        Whether padding counts as elements of the mean (ONNX ``count_include_pad``).
    """

    kernel_shape: Shape
    strides: Shape
    pads: Shape
    count_include_pad: bool = False

    @property
    def counts_all(self) -> bool:
        """Whether every window's sum is divided by the number of its elements: none of them is left out."""
        return self.count_include_pad or not self.is_padded

    def output_sizes(self, x: Shape) -> Shape:
        """Return the spatial sizes of the result for an input of this shape.

        Raises
        ------
        UsageError
            If the numbers of axes differ, a number is out of bounds, or the window does not fit.
        """
        return _output_sizes(x, self.kernel_shape, self.strides, self.pads, self.dilations)

    def is_same(self, x: Shape) -> bool:
        """Return whether there is padding, and it is what ``SAME`` gives each axis."""
        same = self.pairs == same_pairs(x[2:], self.kernel_shape, self.strides, self.dilations)
        return self.is_padded and same


def _output_sizes(
    x: Shape, kernel: Shape, strides: Shape, pads: Shape, dilations: Shape, ceil_mode: bool = False
) -> Shape:
    """Return the spatial output shape of a sliding window (ONNX ``Conv``/``MaxPool``, explicit pads)."""
    spatial = x[2:]
    rank = len(spatial)
    lengths = (len(kernel), len(strides), len(dilations))
    require(
        lengths == (rank,) * 3 and len(pads) == 2 * rank,
        f"a window over input {x} needs {rank} kernel sizes, strides and dilations and {2 * rank} pads, "
        f"got kernel {kernel}, strides {strides}, dilations {dilations}, pads {pads}",
    )
    _check_bounds(kernel, strides, dilations, pads)
    sizes = []
    for size, k, stride, begin, end, dilation in zip(spatial, kernel, strides, *halves(pads), dilations):
        covered = (k - 1) * dilation + 1
        room = size + begin + end - covered
        require(
            room >= 0,
            f"a window of {covered} does not fit an axis of size {size} padded by {begin} and {end}; "
            "make the input larger or the kernel smaller",
        )
        windows = (math.ceil(room / stride) if ceil_mode else room // stride) + 1
        if ceil_mode and (windows - 1) * stride >= size + begin:
            windows -= 1
        sizes.append(windows)
    return tuple(sizes)


def _check_bounds(kernel: Shape, strides: Shape, dilations: Shape, pads: Shape) -> None:
    require(
        min((*kernel, *strides, *dilations), default=1) >= 1 and min(pads, default=0) >= 0,
        f"kernel, strides and dilations must be at least 1 and pads at least 0, got kernel {kernel}, "
        f"strides {strides}, dilations {dilations}, pads {pads}",
    )


def same_pairs(sizes: Shape, kernel: Shape, strides: Shape, dilations: Shape) -> Pairs:
    """Return the pads that ``SAME`` gives each axis."""
    pairs = []
    for size, k, stride, dilation in zip(sizes, kernel, strides, dilations):
        total = max((-(-size // stride) - 1) * stride + (k - 1) * dilation + 1 - size, 0)
        pairs.append((total // 2, total - total // 2))
    return pairs
