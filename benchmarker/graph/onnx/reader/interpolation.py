"""Resizing in all of ONNX's ways, and sampling at places that a run computes.

What an axis becomes is a linear map of it that is known while importing: a matrix, or rows that are taken. Each
row is what ONNX's own reference (``onnx.reference.ops.op_resize``) weighs the pixels with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.onnx.reader.call import Call
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.recorder import Value
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Resizing:
    """How one axis is resized.

    Parameters
    ----------
    old, new : int
        Its sizes.
    scale : float
        By which coordinates are divided; ``new / old`` unless another one was given.
    mode, coordinates, rounding : str
        ONNX's ``mode``, ``coordinate_transformation_mode`` and ``nearest_mode``.
    cubic : float
        ``cubic_coeff_a``.
    antialias, exclude_outside : bool
        As ONNX names them.
    region : tuple of float
        Start and end of what is resized, for ``tf_crop_and_resize``.
    """

    old: int
    new: int
    scale: float
    mode: str
    coordinates: str
    rounding: str = "round_prefer_floor"
    cubic: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False
    region: tuple[float, float] = (0.0, 1.0)

    @property
    def is_same(self) -> bool:
        """Whether nothing changes."""
        return self.old == self.new and self.scale == 1.0 and self.coordinates != "tf_crop_and_resize"

    def places(self) -> Array:
        """Return where each new pixel lies among the old ones."""
        x, reached = np.arange(self.new, dtype=np.float64), self.scale * self.old
        name = self.coordinates
        if name == "align_corners":
            return x * (self.old - 1) / (reached - 1) if reached != 1 else np.zeros(1)
        if name == "asymmetric":
            return x / self.scale
        if name == "tf_crop_and_resize":
            start, end = self.region
            if reached == 1:
                return np.full(1, (start + end) * (self.old - 1) / 2)
            return start * (self.old - 1) + x * (end - start) * (self.old - 1) / (reached - 1)
        centred = (x + 0.5) / self.scale - 0.5
        if name == "half_pixel_symmetric":
            return centred + self.old / 2 * (1 - self.new / reached)
        if name == "pytorch_half_pixel" and reached == 1:
            return np.full(1, -0.5)
        if name not in ("half_pixel", "pytorch_half_pixel"):
            raise Unsupported(f"with coordinates {name}")
        return centred

    def outside(self) -> Array:
        """Return which new pixels lie outside of the old ones and get a constant instead."""
        if self.coordinates != "tf_crop_and_resize":
            return np.zeros(self.new, bool)
        at = self.places()
        return (at < 0) | (at > self.old - 1)

    def matrix(self) -> Array:
        """Return the weights ``(new, old)``."""
        found = np.zeros((self.new, self.old))
        for row, at in enumerate(self.places()):
            below = math.floor(at)
            ratio = 1.0 if float(at).is_integer() else at - below
            weights = self._weights(ratio)
            # The nearest ones, of two equally near the one before.
            around = sorted(
                range(below - len(weights), below + len(weights) + 2), key=lambda n: (abs(at - n), n)
            )
            taken = np.array(sorted(around[: len(weights)]))
            if self.exclude_outside:
                weights = np.where((taken < 0) | (taken >= self.old), 0.0, weights)
                weights = weights / weights.sum()
            np.add.at(found[row], np.clip(taken, 0, self.old - 1), weights)
        return found

    def _weights(self, ratio: float) -> Array:
        if self.mode == "nearest":
            return self._nearest(ratio)
        if self.mode not in ("linear", "cubic"):
            raise Unsupported(f"with mode {self.mode}")
        reach = 1 if self.mode == "linear" else 2
        curve = _triangle if self.mode == "linear" else _curve(self.cubic)
        scale = min(self.scale, 1.0) if self.antialias else 1.0
        start = math.floor(-reach / scale) + 1
        found = np.array([curve(abs(scale * (n - ratio))) for n in range(start, 2 - start)])
        return found / found.sum() if self.antialias else found

    def _nearest(self, ratio: float) -> Array:
        if ratio == 1.0 or self.rounding == "ceil":
            return np.array([0.0, 1.0])
        if self.rounding == "floor":
            return np.array([1.0, 0.0])
        first = ratio <= 0.5 if self.rounding == "round_prefer_floor" else ratio < 0.5
        return np.array([float(first), float(not first)])


def _triangle(x: float) -> float:
    return max(1.0 - x, 0.0)


def _curve(a: float) -> Any:
    def cubic(x: float) -> float:
        if x <= 1:
            return ((a + 2) * x - (a + 3)) * x * x + 1
        return (((x - 5) * x + 8) * x - 4) * a if x < 2 else 0.0

    return cubic


def resized(call: Call, x: Value, axes: Sequence[Resizing], filling: float) -> Value:
    """Return ``x`` with each axis resized; ``filling`` is what pixels outside of all others get."""
    net = call.net
    for axis, how in enumerate(axes):
        if how.is_same:
            continue
        matrix = how.matrix()
        if how.mode == "nearest":
            rows = call.table(matrix.argmax(1).astype(np.int64), f"rows{axis}")
            x = net.gather(x, rows, axis=axis)
        else:
            x = along(call, x, axis, call.table(matrix.astype(np.float32), f"weights{axis}"))
    missing = np.zeros((), bool)
    for axis, how in enumerate(axes):
        missing = missing | how.outside().reshape(-1, *(1,) * (len(axes) - axis - 1))
    if not missing.any():
        return x
    kept = call.table(np.float32(filling), "filling")
    found: Value = net.where(call.table(np.broadcast_to(missing, x.shape).copy(), "outside"), kept, x)
    return found


def along(call: Call, x: Value, axis: int, matrix: Value) -> Value:
    """Return the product of a matrix ``(new, old)`` and an axis."""
    net, rank = call.net, len(x.shape)
    found: Value
    if axis == rank - 2:
        found = net.matmul(matrix, x)
        return found
    turned = net.transpose(matrix, perm=(1, 0))
    if axis == rank - 1 and rank > 1:
        found = net.matmul(x, turned)
        return found
    if rank == 1:
        found = net.reshape(
            net.matmul(net.reshape(x, shape=(1, x.shape[0])), turned), shape=(matrix.shape[0],)
        )
        return found
    perm = [n for n in range(rank) if n != axis] + [axis]
    moved = net.matmul(net.transpose(x, perm=tuple(perm)), turned)
    found = net.transpose(moved, perm=tuple(int(n) for n in np.argsort(perm)))
    return found
