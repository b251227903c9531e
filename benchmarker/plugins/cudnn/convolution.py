"""Convolutions as calls of cuDNN, each by the algorithm that was chosen for it before."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from benchmarker.errors import UnsupportedError
from benchmarker.graph.windows import Window
from benchmarker.plugins.cudnn.elements import FUSED_MULTIPLY_ADD
from benchmarker.plugins.cudnn.library import Buffer, Handle, ints
from benchmarker.plugins.cudnn.operators import ProductOperators
from benchmarker.plugins.cudnn.place import MIN_RANK, Call, Place, Shape
from benchmarker.quick_dataclass import dataclass

_CROSS_CORRELATION, _NCHW = 1, 0
_ALGORITHMS = range(8)
MAX_WORKSPACE = 1 << 30
"""Bytes that an algorithm may ask for."""


class _Performance(ctypes.Structure):
    """``cudnnConvolutionFwdAlgoPerf_t``."""

    _fields_ = (
        ("algorithm", ctypes.c_int),
        ("status", ctypes.c_int),
        ("milliseconds", ctypes.c_float),
        ("workspace", ctypes.c_size_t),
        ("determinism", ctypes.c_int),
        ("math", ctypes.c_int),
        ("reserved", ctypes.c_int * 3),
    )


@dataclass(frozen=True)
class _Convolution:
    """A convolution as cuDNN is told of it.

    Parameters
    ----------
    x, filters, how, y : Handle
        Descriptors of the image, the weight, the convolution and the result.
    """

    x: Handle
    filters: Handle
    how: Handle
    y: Handle

    @property
    def described(self) -> tuple[Any, ...]:
        """In the order of the functions that want no memory."""
        return self.x.pointer, self.filters.pointer, self.how.pointer, self.y.pointer


class ConvolutionOperators(ProductOperators):
    """The same, and convolutions of one to three axes."""

    def conv(self, x: Any, w: Any, b: Any = None, *, window: Window) -> Call:
        place = self._place
        library, output = place.library, place.memory(place.results[0])
        conv = _described(place, window)
        algorithm, size, math = _chosen(place, conv)
        library.call("cudnnSetConvolutionMathType", conv.how.pointer, math)
        workspace = Buffer(library, size)
        one, zero = place.factor(1.0), place.factor(0.0)
        channels = (1, place.results[0][1], *(1,) * (len(place.results[0]) - 2))
        add = place.adding(channels, place.results[0]) if b is not None else None

        def call(x: Buffer, w: Buffer, b: Buffer | None = None) -> Buffer:
            library.call(
                "cudnnConvolutionForward",
                *(library.cudnn, one, conv.x.pointer, x.address, conv.filters.pointer, w.address),
                *(conv.how.pointer, algorithm, workspace.address, size, zero, conv.y.pointer, output.address),
            )
            if add is not None and b is not None:
                add(b.address, output.address)
            return output

        return call


def _described(place: Place, window: Window) -> _Convolution:
    spatial = len(window.strides)
    begins, ends = window.pads[:spatial], window.pads[spatial:]
    if begins != ends:
        raise UnsupportedError(f"cuDNN pads both ends of an axis alike, got pads {window.pads}")
    elements, library = place.elements, place.library
    missing = max(0, MIN_RANK - 2 - spatial)
    axes = spatial + missing
    sizes = [_with_rank(shape, missing) for shape in (place.shape(0), place.shape(1), place.results[0])]
    pads, strides, dilations = (
        ints((fill,) * missing + tuple(values))
        for fill, values in ((0, begins), (1, window.strides), (1, window.dilations))
    )
    given = axes, pads, strides, dilations, _CROSS_CORRELATION, elements.sums
    how = library.descriptor("Convolution", "ConvolutionNdDescriptor", *given)
    library.call("cudnnSetConvolutionGroupCount", how.pointer, window.group)
    library.call("cudnnSetConvolutionMathType", how.pointer, elements.math)
    filters = (elements.cudnn, _NCHW, axes + 2, ints(sizes[1]))
    return _Convolution(
        place.tensor(sizes[0]),
        library.descriptor("Filter", "FilterNdDescriptor", *filters),
        how,
        place.tensor(sizes[2]),
    )


def _with_rank(shape: Shape, missing: int) -> Sequence[int]:
    """Return a shape with axes of size 1 before the spatial ones."""
    return (*shape[:2], *(1,) * missing, *shape[2:])


def _chosen(place: Place, conv: _Convolution) -> tuple[int, int, int]:
    """Return the algorithm, the bytes that it works in, and the units that it takes."""
    found, count = (_Performance * len(_ALGORITHMS))(), ctypes.c_int()
    results = len(found), ctypes.byref(count), found
    library = place.library
    if not place.times_algorithms:
        library.call("cudnnGetConvolutionForwardAlgorithm_v7", library.cudnn, *conv.described, *results)
    else:
        workspace = Buffer(library, max(_workspaces(place, conv)))
        x, w, y = (place.memory(shape) for shape in (place.shape(0), place.shape(1), place.results[0]))
        for buffer in (x, w):
            library.call("cudaMemset", buffer.address, 0, buffer.size)
        library.call(
            "cudnnFindConvolutionForwardAlgorithmEx",
            *(library.cudnn, conv.x.pointer, x.address, conv.filters.pointer, w.address, conv.how.pointer),
            *(conv.y.pointer, y.address, *results, workspace.address, workspace.size),
        )
    for one in found[: count.value]:
        # In fp32 another kind of units would round to TF32 first.
        allowed = one.math == place.elements.math or place.elements.math != FUSED_MULTIPLY_ADD
        if one.status == 0 and one.workspace <= MAX_WORKSPACE and allowed:
            return one.algorithm, one.workspace, one.math
    raise UnsupportedError("cuDNN has no algorithm for this convolution")


def _workspaces(place: Place, conv: _Convolution) -> list[int]:
    """Return the bytes that algorithms ask for, of those that can be had."""
    found, size = [1], ctypes.c_size_t()
    for algorithm in _ALGORITHMS:
        try:
            place.library.call(
                "cudnnGetConvolutionForwardWorkspaceSize",
                *(place.library.cudnn, *conv.described, algorithm, ctypes.byref(size)),
            )
        except (UnsupportedError, RuntimeError):
            continue
        if size.value <= MAX_WORKSPACE:
            found.append(size.value)
    return found
