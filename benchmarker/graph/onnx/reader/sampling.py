"""Pixels at places that a run computes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.elementwise import cast
from benchmarker.graph.onnx.reader.shaping import cut, reshaped
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.recorder import Value

_SHARPNESS = -0.75
"""Of cubic interpolation (Keys 1981), as ONNX and PyTorch have it."""
Corner = tuple[Value, Value]
"""Whole places within an axis, and the weights of what is there."""


class _Axis:
    """One axis of an image, and where on it is sampled ``(N, places)``, in pixels."""

    def __init__(self, call: Call, at: Value, size: int, padding: str, aligned: bool) -> None:
        if padding not in ("zeros", "border", "reflection"):
            raise Unsupported(f"with padding_mode {padding}")
        self._net, self._size, self._padding, self._at = call.net, size, padding, at
        self._low, self._high = (0.0, size - 1.0) if aligned else (-0.5, size - 0.5)

    def _inside(self, x: Value) -> Value:
        """Return places within the axis, as the padding has it; what it leaves outside counts as 0."""
        if self._padding == "reflection":
            x = self._reflected(x)
        found: Value = x if self._padding == "zeros" else self._net.clip(x, min=0.0, max=self._size - 1.0)
        return found

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

    def corners(self, mode: str) -> list[Corner]:
        """Return the pixels that are mixed along the axis."""
        net = self._net
        if mode == "cubic":
            return self._curved()
        at = self._inside(self._at)
        if mode == "nearest":
            return [self._held(net.round(at), None)]
        below = net.floor(at)
        share = net.sub(at, below)
        return [
            self._held(below, net.affine(share, alpha=-1.0, beta=1.0)),
            self._held(net.affine(below, beta=1.0), share),
        ]

    def _curved(self) -> list[Corner]:
        """Return four pixels around each place; the padding is of these, not of the place."""
        net, a = self._net, _SHARPNESS
        below = net.floor(self._at)
        t = net.sub(self._at, below)
        s = net.affine(t, alpha=-1.0, beta=1.0)

        def near(x: Value) -> Value:
            bend = net.mul(net.mul(x, x), net.affine(x, alpha=a + 2, beta=-(a + 3)))
            found: Value = net.affine(bend, beta=1.0)
            return found

        def far(x: Value, y: Value) -> Value:
            found: Value = net.affine(net.mul(x, net.mul(y, y)), alpha=a)
            return found

        weights = (far(t, s), near(t), near(s), far(s, t))
        places = [net.affine(below, beta=float(n)) for n in (-1, 0, 1, 2)]
        return [self._held(net.round(self._inside(at)), weight) for at, weight in zip(places, weights)]

    def _held(self, whole: Value, weight: Value | None) -> Corner:
        net, last = self._net, self._size - 1.0
        held = net.clip(whole, min=0.0, max=last)
        inside = cast(net, net.equal(held, whole), "float32")
        return held, inside if weight is None else net.mul(weight, inside)


_MODES = {
    **dict.fromkeys(("linear", "bilinear"), "linear"),
    **dict.fromkeys(("cubic", "bicubic"), "cubic"),
    "nearest": "nearest",
}


def _grid_sample(call: Call) -> Result:
    """Return the pixels of ``(N, C, *spatial)`` at ``(N, *places, axes)``, whose last axis names x first."""
    x, grid = call.tensor(0), call.tensor(1)
    spatial, mode = x.shape[2:], call.attribute("mode", "linear")
    if mode not in _MODES:
        raise Unsupported(f"with mode {mode}")
    padding, aligned = call.attribute("padding_mode", "zeros"), bool(call.attribute("align_corners", 0))
    samples, channels = x.shape[:2]
    count = int(np.prod(grid.shape[1:-1]))
    rank = len(spatial)
    flat = reshaped(call, grid, (samples, count, rank))
    axes = []
    for place, size in enumerate(spatial):
        column = cut(call, flat, 2, rank - 1 - place, rank - place)
        half = (size - 1) / 2 if aligned else size / 2
        at = call.net.affine(reshaped(call, column, (samples, count)), alpha=half, beta=(size - 1) / 2)
        axes.append(_Axis(call, at, size, padding, aligned).corners(_MODES[mode]))
    pixels = reshaped(call, x, (samples, channels, int(np.prod(spatial))))
    return reshaped(call, _mixed(call, pixels, spatial, axes), (samples, channels, *grid.shape[1:-1]))


def _mixed(call: Call, pixels: Value, spatial: Sequence[int], axes: Sequence[Sequence[Corner]]) -> Value:
    """Return the pixels ``(N, C, places)`` of ``(N, C, H * W)`` where each axis says."""
    parts = [_corner(call, pixels, spatial, corner) for corner in product(*axes)]
    total = parts[0]
    for part in parts[1:]:
        total = call.net.add(total, part)
    return total


def _deform_conv(call: Call) -> Result:
    """Return a convolution of an image ``(N, C, H, W)`` whose windows' elements lie where offsets move them."""
    x, w, net = call.tensor(0), call.tensor(1), call.net
    if len(x.shape) != 4:
        raise Unsupported(f"over {len(x.shape) - 2} spatial axes")
    (samples, channels, *spatial), (kernels, depth, *kernel) = x.shape, w.shape
    group, parts = call.attribute("group", 1), call.attribute("offset_group", 1)
    outputs, elements = call.shape(2)[2:], math.prod(kernel)
    windows, count = math.prod(outputs), math.prod(kernel) * math.prod(outputs)
    strides, dilations = (call.axes(name) or (1, 1) for name in ("strides", "dilations"))
    pads = call.axes("pads") or (0,) * 4
    offsets = reshaped(call, call.tensor(2), (samples * parts, elements, 2, windows))
    starts = [np.arange(n) * strides[axis] - pads[axis] for axis, n in enumerate(outputs)]
    within = [np.arange(n) * dilations[axis] for axis, n in enumerate(kernel)]
    axes = []
    for axis, size in enumerate(spatial):
        inner, outer = (np.meshgrid(*lines, indexing="ij")[axis].reshape(-1) for lines in (within, starts))
        base = call.table((inner[:, None] + outer).reshape(1, -1).astype(np.float32), f"places{axis}")
        moved = reshaped(call, cut(call, offsets, 2, axis, axis + 1), (samples * parts, count))
        axes.append(_Axis(call, net.add(moved, base), size, "zeros", True).corners("linear"))
    pixels = reshaped(call, x, (samples * parts, channels // parts, math.prod(spatial)))
    taken = _mixed(call, pixels, spatial, axes)
    if call.has(4):
        taken = net.mul(taken, reshaped(call, call.tensor(4), (samples * parts, 1, count)))
    rows = reshaped(call, taken, (samples, group, depth * elements, windows))
    y = net.matmul(reshaped(call, w, (group, kernels // group, depth * elements)), rows)
    y = reshaped(call, y, (samples, kernels, *outputs))
    return net.add(y, reshaped(call, call.tensor(3), (kernels, 1, 1))) if call.has(3) else y


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


HANDLERS: Mapping[str, Handler] = {
    "AffineGrid": _affine_grid,
    "DeformConv": _deform_conv,
    "GridSample": _grid_sample,
}
"""How each ONNX operator is written in ours."""
