"""Sliding windows over the spatial axes, as one strided slice for each element of the kernel."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.windows import Pairs, Shape

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
    pairs : list of pair of int
        Pads before and after each axis; those after include what ``ceil_mode`` adds.
    """

    spatial: Shape
    kernel: Shape
    strides: Shape
    dilations: Shape
    pairs: Pairs

    @property
    def padded(self) -> Shape:
        """Sizes of the padded axes."""
        return tuple(n + begin + end for n, (begin, end) in zip(self.spatial, self.pairs))

    @property
    def out(self) -> Shape:
        """Number of windows along each axis."""
        return tuple(
            (size - (k - 1) * d - 1) // s + 1
            for size, k, s, d in zip(self.padded, self.kernel, self.strides, self.dilations)
        )

    @property
    def pointwise(self) -> bool:
        """Whether each window is one element and each element one window."""
        return {*self.kernel, *self.strides} == {1} and not any(map(any, self.pairs))

    def offsets(self) -> Iterator[tuple[Index, Index]]:
        """Yield each position in the kernel with the slice of the padded array that it sees."""
        out = self.out
        for position in itertools.product(*map(range, self.kernel)):
            starts = [p * d for p, d in zip(position, self.dilations)]
            seen = tuple(
                slice(start, start + (n - 1) * stride + 1, stride)
                for start, n, stride in zip(starts, out, self.strides)
            )
            yield position, (slice(None), slice(None), *seen)

    def inner(self) -> Index:
        """Return the slice that takes the padding off."""
        inner = (slice(begin, begin + n) for (begin, _), n in zip(self.pairs, self.spatial))
        return (slice(None), slice(None), *inner)

    def pad(self, x: Array, value: float = 0.0) -> Array:
        """Return ``x`` surrounded by ``value``; ``x`` itself if there is nothing to add."""
        if not any(map(any, self.pairs)):
            return x
        padded = np.full_like(x, value, order="C", shape=(*x.shape[:2], *self.padded))
        padded[self.inner()] = x
        return padded

    def columns(self, x: Array) -> Array:
        """Return all windows of ``x (N, C, *spatial)`` as ``(N, C, kernel elements, windows)``."""
        n, c = x.shape[:2]
        if self.pointwise:
            return x.reshape(n, c, 1, -1)
        padded = self.pad(x)
        columns = np.empty((n, c, *self.kernel, *self.out), x.dtype, like=x)
        for position, seen in self.offsets():
            columns[(slice(None), slice(None), *position)] = padded[seen]
        return columns.reshape(n, c, math.prod(self.kernel), -1)

    def scatter(self, columns: Array) -> Array:
        """Add every window's elements back to where they came from: the transpose of :meth:`columns`."""
        n, c = columns.shape[:2]
        if self.pointwise:
            return columns.reshape(n, c, *self.spatial)
        columns = columns.reshape(n, c, *self.kernel, *self.out)
        padded = np.zeros((n, c, *self.padded), columns.dtype, like=columns)
        for position, seen in self.offsets():
            padded[seen] += columns[(slice(None), slice(None), *position)]
        return padded[self.inner()]
