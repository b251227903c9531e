"""Windows that slide over images: convolution, pooling, resizing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.recorder import Value
from benchmarker.graph.windows import Shape, TransposedWindow, halves, same_pairs


def _spatial(call: Call, name: str, rank: int, default: int = 1) -> Shape:
    return call.axes(name) or (default,) * rank


def _pads(call: Call, x: Value, kernel: Shape, strides: Shape, dilations: Shape) -> Shape:
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
    x, w = call.tensor(0), call.tensor(1)
    rank = len(x.shape) - 2
    strides, dilations = _spatial(call, "strides", rank), _spatial(call, "dilations", rank)
    return call.net.conv(
        x,
        w,
        call.optional(2),
        strides=strides,
        pads=_pads(call, x, w.shape[2:], strides, dilations),
        dilations=dilations,
        group=call.attribute("group", 1),
    )


def _conv_transpose(call: Call) -> Result:
    x, w = call.tensor(0), call.tensor(1)
    rank = len(x.shape) - 2
    strides, dilations = _spatial(call, "strides", rank), _spatial(call, "dilations", rank)
    extra = _spatial(call, "output_padding", rank, 0)
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


def _max_pool(call: Call) -> Result:
    call.unused(1, "indices")
    x = call.tensor(0)
    kernel, strides, pads = _pooling(call, x)
    ceil = bool(call.attribute("ceil_mode", 0))
    return call.net.max_pool(x, kernel_shape=kernel, strides=strides, pads=pads, ceil_mode=ceil)


def _average_pool(call: Call) -> Result:
    x = call.tensor(0)
    kernel, strides, pads = _pooling(call, x)
    rest = [
        (n + a + b - k) % s for n, k, s, a, b in zip(x.shape[2:], kernel, strides, pads, pads[len(kernel) :])
    ]
    if call.attribute("ceil_mode", 0) and any(rest):
        raise Unsupported("with windows that begin inside and end outside (ceil_mode)")
    counted = bool(call.attribute("count_include_pad", 0))
    return call.net.average_pool(
        x, kernel_shape=kernel, strides=strides, pads=pads, count_include_pad=counted
    )


def _pooling(call: Call, x: Value) -> tuple[Shape, Shape, Shape]:
    rank = len(x.shape) - 2
    if set(_spatial(call, "dilations", rank)) - {1}:
        raise Unsupported("with dilations")
    kernel, strides = tuple(call.attribute("kernel_shape")), _spatial(call, "strides", rank)
    return kernel, strides, _pads(call, x, kernel, strides, (1,) * rank)


def _global_average_pool(call: Call) -> Result:
    return call.net.global_average_pool(call.tensor(0))


def _global_max_pool(call: Call) -> Result:
    x = call.tensor(0)
    return call.net.reduce_max(x, axes=tuple(range(2, len(x.shape))), keepdims=True)


def _resize(call: Call) -> Result:
    x = call.tensor(0)
    if len(x.shape) != 4:
        raise Unsupported(f"of {len(x.shape)} axes")
    sizes = _new_sizes(call, x.shape)
    if sizes[:2] != x.shape[:2]:
        raise Unsupported("of the mini-batch or channels")
    if sizes == x.shape:
        return x
    mode = call.attribute("mode", "nearest")
    if mode == "nearest":
        _check_nearest(call, x.shape, sizes)
    elif mode == "linear":
        _check_linear(call, sizes)
    else:
        raise Unsupported(f"with mode {mode}")
    return call.net.resize(x, sizes=sizes[2:], mode=mode)


def _new_sizes(call: Call, shape: Shape) -> Shape:
    """Return the new size of each axis: given, or by exact factors."""
    axes = call.axes("axes") or tuple(range(len(shape)))
    found = list(shape)
    call.only("keep_aspect_ratio_policy", "stretch")
    if call.has(3):
        for axis, size in zip(axes, call.integers(3, "sizes")):
            found[axis] = size
        return tuple(found)
    if call.opset < 9:
        scales = np.asarray(call.attribute("scales"))
    else:
        scales = call.known(1 if call.node.operator == "Upsample" or call.opset < 11 else 2, "scales")
    for axis, scale in zip(axes, scales.reshape(-1)):
        found[axis] = int(np.floor(shape[axis] * float(scale)))
        if abs(found[axis] - shape[axis] * float(scale)) > 1e-6:
            raise Unsupported(f"by {float(scale):g}, which gives no whole size")
    return tuple(found)


def _coordinates(call: Call) -> str:
    asymmetric = call.node.operator == "Upsample" or call.opset < 11
    name: str = call.attribute("coordinate_transformation_mode", "asymmetric" if asymmetric else "half_pixel")
    return name


def _check_nearest(call: Call, shape: Shape, sizes: Shape) -> None:
    """Refuse what is not the repetition of each element."""
    if any(new % old for new, old in zip(sizes, shape)):
        raise Unsupported(f"by mode nearest from {shape[2:]} to {sizes[2:]}, which is no multiple")
    coordinates, before = _coordinates(call), call.node.operator == "Upsample" or call.opset < 11
    rounding = call.attribute("nearest_mode", "floor" if before else "round_prefer_floor")
    centred = coordinates in ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric")
    repeats = (coordinates == "asymmetric" and rounding == "floor") or (
        centred and rounding.startswith("round_prefer")
    )
    if not repeats:
        raise Unsupported(f"by mode nearest, {coordinates} and {rounding}")


def _check_linear(call: Call, sizes: Shape) -> None:
    """Refuse what is not the interpolation between centres of pixels."""
    coordinates = _coordinates(call)
    centred = coordinates in ("half_pixel", "half_pixel_symmetric")
    if not centred and not (coordinates == "pytorch_half_pixel" and min(sizes[2:]) > 1):
        raise Unsupported(f"by mode linear and {coordinates}")
    call.only("antialias", 0)
    call.only("exclude_outside", 0)


HANDLERS: Mapping[str, Handler] = {
    "AveragePool": _average_pool,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "GlobalAveragePool": _global_average_pool,
    "GlobalMaxPool": _global_max_pool,
    "MaxPool": _max_pool,
    "Resize": _resize,
    "Upsample": _resize,
}
"""How each ONNX operator is written in ours."""
