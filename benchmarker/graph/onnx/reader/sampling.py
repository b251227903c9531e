"""Pixels at places that a run computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.elementwise import cast
from benchmarker.graph.onnx.reader.shaping import cut, reshaped
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.recorder import Value


class _Axis:
    """One axis of an image, and where on it is sampled ``(N, places)``."""

    def __init__(self, call: Call, at: Value, size: int) -> None:
        self._net, self._size = call.net, size
        self._padding = call.attribute("padding_mode", "zeros")
        aligned = bool(call.attribute("align_corners", 0))
        half = (size - 1) / 2 if aligned else size / 2
        self.at = self._net.affine(at, alpha=half, beta=(size - 1) / 2)
        self._low, self._high = (0.0, size - 1.0) if aligned else (-0.5, size - 0.5)
        if self._padding == "border":
            self.at = self._net.clip(self.at, min=0.0, max=size - 1.0)
        elif self._padding == "reflection":
            self.at = self._net.clip(self._reflected(self.at), min=0.0, max=size - 1.0)
        elif self._padding != "zeros":
            raise Unsupported(f"with padding_mode {self._padding}")

    def _reflected(self, x: Value) -> Value:
        """Return places, back and forth between the ends of the axis."""
        net, span = self._net, self._high - self._low
        found: Value
        if span <= 0:
            found = net.affine(x, alpha=0.0)
            return found
        away = net.affine(x, beta=-self._low)
        turns = net.affine(net.floor(net.affine(away, alpha=0.5 / span)), alpha=2 * span)
        rest = net.sub(away, turns)
        found = net.affine(net.minimum(rest, net.affine(rest, alpha=-1.0, beta=2 * span)), beta=self._low)
        return found

    def corners(self, nearest: bool) -> list[tuple[Value, Value]]:
        """Return pairs of whole places within the axis, and the weights of what is there."""
        net = self._net
        if nearest:
            whole = net.round(self.at)
            return [self._held(whole, None)]
        below = net.floor(self.at)
        share = net.sub(self.at, below)
        return [
            self._held(below, net.affine(share, alpha=-1.0, beta=1.0)),
            self._held(net.affine(below, beta=1.0), share),
        ]

    def _held(self, whole: Value, weight: Value | None) -> tuple[Value, Value]:
        net, last = self._net, self._size - 1.0
        held = net.clip(whole, min=0.0, max=last)
        inside = cast(net, net.equal(held, whole), "float32")
        return held, inside if weight is None else net.mul(weight, inside)


def _grid_sample(call: Call) -> Result:
    """Return the pixels of ``(N, C, *spatial)`` at ``(N, *places, axes)``, whose last axis names x first."""
    x, grid, net = call.tensor(0), call.tensor(1), call.net
    spatial, mode = x.shape[2:], call.attribute("mode", "linear")
    if mode not in ("linear", "bilinear", "nearest"):
        raise Unsupported(f"with mode {mode}")
    samples, channels = x.shape[:2]
    count = int(np.prod(grid.shape[1:-1]))
    rank = len(spatial)
    flat = reshaped(call, grid, (samples, count, rank))
    axes = []
    for place, size in enumerate(spatial):
        column = cut(call, flat, 2, rank - 1 - place, rank - place)
        axes.append(_Axis(call, reshaped(call, column, (samples, count)), size).corners(mode == "nearest"))
    pixels = reshaped(call, x, (samples, channels, int(np.prod(spatial))))
    parts = [_corner(call, pixels, spatial, corner) for corner in product(*axes)]
    total = parts[0]
    for part in parts[1:]:
        total = net.add(total, part)
    return reshaped(call, total, (samples, channels, *grid.shape[1:-1]))


def _corner(
    call: Call, pixels: Value, spatial: Sequence[int], corner: Sequence[tuple[Value, Value]]
) -> Value:
    """Return the pixels ``(N, C, H * W)`` at one corner of the cells that are sampled, by their weights."""
    net, (samples, channels, _) = call.net, pixels.shape
    place, weight = corner[0]
    for size, (further, share) in zip(spatial[1:], corner[1:]):
        place, weight = net.add(net.affine(place, alpha=float(size)), further), net.mul(weight, share)
    count = place.shape[1]
    index = reshaped(call, cast(net, place, "int64"), (samples, 1, count))
    index = index if channels == 1 else net.expand(index, shape=(samples, channels, count))
    found: Value = net.mul(
        net.gather_elements(pixels, index, axis=2), reshaped(call, weight, (samples, 1, count))
    )
    return found


def _affine_grid(call: Call) -> Result:
    """Return the places that each sample's affine map sends the pixels of an image to."""
    theta, size = call.tensor(0), call.integers(1, "a size")[2:]
    lines = [
        np.linspace(-1, 1, n) if call.attribute("align_corners", 0) else (2 * np.arange(n) + 1) / n - 1
        for n in size
    ]
    grid = np.stack([*reversed(np.meshgrid(*lines, indexing="ij")), np.ones(size)], -1)
    flat = call.table(grid.reshape(-1, len(size) + 1).astype(np.float32), "pixels")
    moved = call.net.matmul(flat, call.net.transpose(theta, perm=(0, 2, 1)))
    return reshaped(call, moved, (theta.shape[0], *size, len(size)))


HANDLERS: Mapping[str, Handler] = {"AffineGrid": _affine_grid, "GridSample": _grid_sample}
"""How each ONNX operator is written in ours."""
