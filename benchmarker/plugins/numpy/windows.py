"""Sliding windows over the spatial axes, as one strided slice for each element of the kernel."""

from __future__ import annotations

import itertools
import math
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.windows import Pairs, Shape
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

Index = tuple[Any, ...]


@dataclass(frozen=True)
class Windows:
    """Where the windows of a convolution or pooling lie on a padded array ``(N, C, *spatial)``.

    Parameters
    ----------
    spatial : tuple of int
        Sizes of the unpadded axes.
    kernel, strides, dilations : tuple of int
        One value per axis.
    pairs : tuple of pair of int
        Pads before and after each axis; those after include what ``ceil_mode`` adds.
    """

    spatial: Shape
    kernel: Shape
    strides: Shape
    dilations: Shape
    pairs: tuple[tuple[int, int], ...]

    @cached_property
    def padded(self) -> Shape:
        """Sizes of the padded axes."""
        return tuple(n + begin + end for n, (begin, end) in zip(self.spatial, self.pairs))

    @cached_property
    def out(self) -> Shape:
        """Number of windows along each axis."""
        return tuple(
            (size - (k - 1) * d - 1) // s + 1
            for size, k, s, d in zip(self.padded, self.kernel, self.strides, self.dilations)
        )

    @cached_property
    def pointwise(self) -> bool:
        """Whether each window is one element and each element one window."""
        return {*self.kernel, *self.strides} == {1} and not any(map(any, self.pairs))

    @cached_property
    def offsets(self) -> tuple[tuple[Index, Index], ...]:
        """Each position in the kernel with the slice of the padded array that it sees."""
        axes = zip(self.kernel, self.dilations, self.out, self.strides)
        seen = [[slice(p * d, p * d + (n - 1) * s + 1, s) for p in range(k)] for k, d, n, s in axes]
        whole = (slice(None), slice(None))
        positions = itertools.product(*map(range, self.kernel))
        return tuple(zip(positions, ((*whole, *slices) for slices in itertools.product(*seen))))

    @cached_property
    def inner(self) -> Index:
        """The slice that takes the padding off."""
        inner = (slice(begin, begin + n) for (begin, _), n in zip(self.pairs, self.spatial))
        return (slice(None), slice(None), *inner)

    def pad(self, x: Array, value: float = 0.0) -> Array:
        """Return ``x`` surrounded by ``value``; ``x`` itself if there is nothing to add."""
        if not any(map(any, self.pairs)):
            return x
        padded = np.full_like(x, value, order="C", shape=(*x.shape[:2], *self.padded))
        padded[self.inner] = x
        return padded

    def columns(self, x: Array) -> Array:
        """Return all windows of ``x (N, C, *spatial)`` as ``(N, C, kernel elements, windows)``."""
        n, c = x.shape[:2]
        if self.pointwise:
            return x.reshape(n, c, 1, -1)
        padded = self.pad(x)
        columns = np.empty((n, c, *self.kernel, *self.out), x.dtype, like=x)
        for position, seen in self.offsets:
            columns[(slice(None), slice(None), *position)] = padded[seen]
        return columns.reshape(n, c, math.prod(self.kernel), -1)

    def scatter(self, columns: Array) -> Array:
        """Add every window's elements back to where they came from: the transpose of :meth:`columns`."""
        n, c = columns.shape[:2]
        if self.pointwise:
            return columns.reshape(n, c, *self.spatial)
        columns = columns.reshape(n, c, *self.kernel, *self.out)
        padded = np.zeros((n, c, *self.padded), columns.dtype, like=columns)
        for position, seen in self.offsets:
            padded[seen] += columns[(slice(None), slice(None), *position)]
        return padded[self.inner]


@lru_cache(maxsize=256)
def _windows(*fields: Any) -> Windows:
    return Windows(*fields)


def windows_over(spatial: Shape, kernel: Shape, strides: Shape, dilations: Shape, pairs: Pairs) -> Windows:
    """Return windows whose slices are found once for all steps of a program."""
    return _windows(spatial, kernel, strides, dilations, tuple(pairs))
