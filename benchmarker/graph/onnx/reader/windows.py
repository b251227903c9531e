"""Windows that slide over images: convolution, pooling, resizing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.interpolation import Resizing, resized
from benchmarker.graph.onnx.reader.shaping import positive
from benchmarker.graph.recorder import Value
from benchmarker.graph.windows import Shape, TransposedWindow, halves, same_pairs


def spatial(call: Call, name: str, rank: int, default: int = 1) -> Shape:
    """Return an attribute of one number a spatial axis."""
    return call.axes(name) or (default,) * rank


def pads_of(call: Call, x: Value, kernel: Shape, strides: Shape, dilations: Shape) -> Shape:
    """Return the begins of all spatial axes, then the ends, by ``pads`` or ``auto_pad``."""
    mode = call.attribute("auto_pad", "NOTSET")
    if mode == "NOTSET":
        return call.axes("pads") or (0,) * (2 * len(kernel))
    if mode == "VALID":
        return (0,) * (2 * len(kernel))
    pairs = same_pairs(x.shape[2:], kernel, strides, dilations)
    less, more = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return (*less, *more) if mode == "SAME_UPPER" else (*more, *less)


def _conv(call: Call) -> Result:
    return convolved(call, call.tensor(0), call.tensor(1), call.optional(2))


def convolved(call: Call, x: Value, w: Value, b: Value | None) -> Value:
    """Return a convolution by the node's attributes."""
    rank = len(x.shape) - 2
    strides, dilations = spatial(call, "strides", rank), spatial(call, "dilations", rank)
    found: Value = call.net.conv(
        x,
        w,
        b,
        strides=strides,
        pads=pads_of(call, x, w.shape[2:], strides, dilations),
        dilations=dilations,
        group=call.attribute("group", 1),
    )
    return found


def _conv_transpose(call: Call) -> Result:
    x, w = call.tensor(0), call.tensor(1)
    rank = len(x.shape) - 2
    strides, dilations = spatial(call, "strides", rank), spatial(call, "dilations", rank)
    extra = spatial(call, "output_padding", rank, 0)
    full = TransposedWindow(strides, (), extra, dilations).whole_sizes(x.shape, w.shape)
    pads = _transposed_pads(call, x.shape[2:], strides, full)
    # Where an output is to be larger than the windows reach, the rest is padding of it.
    short = [min(0, begin + end) for begin, end in zip(*halves(pads))]
    if min(pads, default=0) < 0:
        extra = tuple(e - s for e, s in zip(extra, short))
        pads = (0,) * (2 * rank)
    return call.net.conv_transpose(
        x,
        w,
        call.optional(2),
        strides=strides,
        pads=pads,
        output_padding=extra,
        dilations=dilations,
        group=call.attribute("group", 1),
    )


def _transposed_pads(call: Call, sizes: Sequence[int], strides: Sequence[int], full: Sequence[int]) -> Shape:
    mode, wanted = call.attribute("auto_pad", "NOTSET"), call.axes("output_shape")
    if wanted is None and mode in ("NOTSET", "VALID"):
        return (call.axes("pads") or (0,) * (2 * len(sizes))) if mode == "NOTSET" else (0,) * (2 * len(sizes))
    outputs = wanted[-len(sizes) :] if wanted else [n * s for n, s in zip(sizes, strides)]
    totals = [reached - size for reached, size in zip(full, outputs)]
    less, more = [total // 2 for total in totals], [total - total // 2 for total in totals]
    return (*less, *more) if mode == "SAME_UPPER" else (*more, *less)


def _col2im(call: Call) -> Result:
    """Return images ``(N, C, *spatial)`` of which each pixel is the sum of what blocks ``(N, C * block, L)`` say of it.

    That is a transposed convolution of each channel with filters that put an element where it belongs.
    """
    x, sizes, block = call.tensor(0), call.integers(1, "a shape"), call.integers(2, "a block")
    rank, elements = len(sizes), int(np.prod(block))
    strides, dilations = spatial(call, "strides", rank), spatial(call, "dilations", rank)
    pads = spatial(call, "pads", 2 * rank, 0)
    free = [
        size + begin + end - ((n - 1) * d + 1)
        for size, begin, end, n, d in zip(sizes, *halves(pads), block, dilations)
    ]
    count = tuple(room // stride + 1 for room, stride in zip(free, strides))
    channels = x.shape[1] // elements
    filters = np.tile(
        np.eye(elements, dtype=np.float32).reshape(elements, 1, *block), (channels, *(1,) * (rank + 1))
    )
    found: Value = call.net.conv_transpose(
        call.net.reshape(x, shape=(x.shape[0], x.shape[1], *count)),
        call.table(filters, "places"),
        None,
        strides=strides,
        pads=pads,
        output_padding=tuple(room % stride for room, stride in zip(free, strides)),
        dilations=dilations,
        group=channels,
    )
    return found


def _resize(call: Call) -> Result:
    x = call.tensor(0)
    axes = _resizings(call, x.shape)
    sizes = tuple(axis.new for axis in axes)
    if all(axis.is_same for axis in axes):
        return x
    if len(sizes) == 4 and sizes[:2] == x.shape[:2] and all(_is_native(axis) for axis in axes[2:]):
        return call.net.resize(x, sizes=sizes[2:], mode=axes[2].mode)
    return resized(call, x, axes, call.attribute("extrapolation_value", 0.0))


def _resizings(call: Call, shape: Shape) -> list[Resizing]:
    """Return what becomes of each axis."""
    older = call.node.operator == "Upsample" or call.opset < 11
    mode = call.attribute("mode", "nearest")
    axes = positive(call.axes("axes") or tuple(range(len(shape))), len(shape))
    sizes, scales = _new_sizes(call, shape, axes)
    region = call.known(1, "a region").reshape(-1) if not older and call.has(1) else np.zeros(0)
    found = []
    for axis, old in enumerate(shape):
        place = axes.index(axis) if axis in axes else -1
        inside = region.size == 2 * len(axes) and place >= 0
        found.append(
            Resizing(
                old,
                sizes[axis],
                scales[axis],
                "linear" if mode == "bilinear" else mode,
                call.attribute("coordinate_transformation_mode", "asymmetric" if older else "half_pixel"),
                call.attribute("nearest_mode", "floor" if older else "round_prefer_floor"),
                call.attribute("cubic_coeff_a", -0.75),
                bool(call.attribute("antialias", 0)),
                bool(call.attribute("exclude_outside", 0)),
                (float(region[place]), float(region[place + len(axes)])) if inside else (0.0, 1.0),
            )
        )
    return found


def _new_sizes(call: Call, shape: Shape, axes: Shape) -> tuple[list[int], list[float]]:
    """Return the new size of each axis, and by what coordinates are divided."""
    sizes, scales = list(shape), [1.0] * len(shape)
    if call.has(3):
        wanted = dict(zip(axes, _in_proportion(call, shape, axes)))
        for axis, size in wanted.items():
            sizes[axis], scales[axis] = size, size / shape[axis]
        return sizes, scales
    if call.opset < 9:
        given = np.asarray(call.attribute("scales"))
    else:
        given = call.known(1 if call.node.operator == "Upsample" or call.opset < 11 else 2, "scales")
    for axis, scale in zip(axes, given.reshape(-1)):
        scales[axis] = float(scale)
        sizes[axis] = int(np.floor(shape[axis] * scales[axis] + 1e-6))
        if abs(sizes[axis] - shape[axis] * scales[axis]) < 1e-6:
            scales[axis] = sizes[axis] / shape[axis]
    return sizes, scales


def _in_proportion(call: Call, shape: Shape, axes: Shape) -> list[int]:
    """Return the sizes that are asked for, or those in the proportion of the old ones that fit them."""
    wanted, policy = call.integers(3, "sizes"), call.attribute("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return list(wanted)
    shares = [size / shape[axis] for axis, size in zip(axes, wanted)]
    scale = min(shares) if policy == "not_larger" else max(shares)
    return [int(np.floor(scale * shape[axis] + 0.5)) for axis in axes]


def _is_native(axis: Resizing) -> bool:
    """Whether the vocabulary's own resizing does it: repetition, or interpolation between centres of pixels."""
    centred = axis.coordinates in ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric")
    if axis.scale != axis.new / axis.old:
        return False
    if axis.mode == "nearest":
        repeats = axis.coordinates == "asymmetric" and axis.rounding == "floor"
        return axis.new % axis.old == 0 and (
            repeats or (centred and axis.rounding.startswith("round_prefer"))
        )
    one = axis.coordinates == "pytorch_half_pixel" and axis.new == 1
    return axis.mode == "linear" and centred and not (one or axis.antialias or axis.exclude_outside)


HANDLERS: Mapping[str, Handler] = {
    "Col2Im": _col2im,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Resize": _resize,
    "Upsample": _resize,
}
"""How each ONNX operator is written in ours."""
