"""Quantized arithmetic: integers are integers of the graph, products of them are computed as real numbers.

Sums up to 2^24 are exact so in float32; beyond, what is lost is less than what quantization loses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.declaring import MAX_VALUES
from benchmarker.graph.onnx.reader.elementwise import cast
from benchmarker.graph.onnx.reader.products import multiplied
from benchmarker.graph.onnx.reader.shaping import positive, reshaped
from benchmarker.graph.onnx.reader.values import Known, NotKnown, Unsupported
from benchmarker.graph.onnx.reader.windows import convolved
from benchmarker.graph.recorder import Value

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_NAMED = {2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32}
"""NumPy's types of those that ``output_dtype`` names."""


def _limits(call: Call, zero: int | None) -> tuple[int, int]:
    """Return the smallest and largest number of the type that is quantized to, which the zero point has."""
    if zero is not None and call.has(zero):
        found = call.operand(zero)
        if isinstance(found, Value):
            raise NotKnown(call.node.inputs[zero], "a zero point")
        kind = found.array.dtype
    else:
        named = call.attribute("output_dtype", 0) or 2
        if named not in _NAMED:
            raise Unsupported(f"to the type {named}")
        kind = np.dtype(_NAMED[named])
    if kind.kind not in "iu":
        raise Unsupported("to integers of 4 bits, or real numbers of 8 bits")
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)


def _spread(call: Call, position: int, shape: tuple[int, ...], axis: int) -> Value:
    """Return a scale or zero point as real numbers that broadcast over ``shape``."""
    found = call.operand(position)
    block = call.attribute("block_size", 0)
    if block and isinstance(found, Known):
        wide = np.repeat(found.array, block, axis)
        wide = wide[tuple(slice(0, size) for size in shape)]
        return call.table(wide.astype(np.float32), f"blocks{position}")
    if block:
        raise NotKnown(call.node.inputs[position], "scales of blocks")
    value = cast(call.net, call.any_tensor(position), "float32")
    if value.type.elements == 1:
        return reshaped(call, value, (1,) * min(1, len(shape)))
    return reshaped(call, value, [-1 if n == axis else 1 for n in range(len(shape))])


def _shifted(call: Call, place: int, zero: int, axis: int = 0) -> Value:
    """Return integers as real numbers, less their zero point."""
    net, x = call.net, cast(call.net, call.any_tensor(place), "float32")
    if not call.has(zero):
        return x
    point = call.operand(zero)
    if isinstance(point, Known) and not point.array.any():
        return x
    found: Value = net.sub(x, _spread(call, zero, x.shape, axis))
    return found


def rounded(call: Call, x: Value, zero: Value | None, limits: tuple[int, int]) -> Value:
    """Return ``x``, in steps already, as integers within limits."""
    net = call.net
    whole = net.round(x)
    whole = net.add(whole, zero) if zero is not None else whole
    return cast(net, net.clip(whole, min=float(limits[0]), max=float(limits[1])), "int64")


def _quantize(call: Call) -> Result:
    net, x = call.net, cast(call.net, call.any_tensor(0), "float32")
    (axis,) = positive((call.attribute("axis", 1),), len(x.shape)) if len(x.shape) > 1 else (0,)
    limits = _limits(call, 2)
    scaled = net.div(x, _spread(call, 1, x.shape, axis))
    zero = _spread(call, 2, x.shape, axis) if call.has(2) else None
    return rounded(call, scaled, zero, limits)


def _dequantize(call: Call) -> Result:
    (axis,) = positive((call.attribute("axis", 1),), len(call.shape(0))) if len(call.shape(0)) > 1 else (0,)
    found = _dequantized_now(call, axis)
    if found is not None:
        return found
    x = _shifted(call, 0, 2, axis)
    return call.net.mul(x, _spread(call, 1, x.shape, axis))


def _dequantized_now(call: Call, axis: int) -> Known | None:
    """Return weights that are stored as integers as what they stand for, unless they are too many to carry."""
    given = [operand for operand in call.operands if operand is not None]
    known = [operand.array for operand in given if isinstance(operand, Known)]
    if len(known) < len(given) or call.attribute("block_size", 0) or known[0].size > MAX_VALUES:
        return None
    x, *more = known
    shape = [-1 if n == axis else 1 for n in range(x.ndim)]
    scale, *zero = (part if part.size == 1 else part.reshape(shape) for part in more)
    shifted = x.astype(np.float32) - (zero[0].astype(np.float32) if zero else np.float32(0))
    return call.keep((shifted * scale.astype(np.float32)).astype(np.float32))


def _quantize_dynamically(call: Call) -> Result:
    """Return integers of 8 bits without a sign, their scale and zero point, from the range of all elements."""
    net, x = call.net, call.tensor(0)
    nothing = call.table(np.float32(0), "zero")
    highest = net.maximum(net.reduce_max(x), nothing)
    lowest = net.minimum(net.affine(net.reduce_max(net.affine(x, alpha=-1.0)), alpha=-1.0), nothing)
    scale = net.affine(net.sub(highest, lowest), alpha=1.0 / 255)
    point = net.div(net.affine(lowest, alpha=-1.0), scale)
    zero = net.round(net.clip(point, min=0.0, max=255.0))
    return rounded(call, net.div(x, scale), zero, (0, 255)), scale, cast(net, zero, "int64")


def _whole(call: Call, x: Value) -> Value:
    return cast(call.net, call.net.round(x), "int64")


def _matmul_integer(call: Call) -> Result:
    a = _shifted(call, 0, 2, len(call.shape(0)) - 2)
    b = _shifted(call, 1, 3, len(call.shape(1)) - 1)
    return _whole(call, multiplied(call, a, b))


def _conv_integer(call: Call) -> Result:
    return _whole(call, convolved(call, _shifted(call, 0, 2), _shifted(call, 1, 3, 0), None))


def _requantized(
    call: Call, sums: Value, scales: tuple[int, int], result: tuple[int, int], axis: int
) -> Value:
    """Return sums of products of integers in the steps of the result."""
    net, shape = call.net, sums.shape
    factor = net.mul(_spread(call, scales[0], shape, axis), _spread(call, scales[1], shape, axis))
    factor = net.div(factor, _spread(call, result[0], shape, axis))
    zero = _spread(call, result[1], shape, axis)
    return rounded(call, net.mul(sums, factor), zero, _limits(call, result[1]))


def _quantized_matmul(call: Call) -> Result:
    a = _shifted(call, 0, 2, len(call.shape(0)) - 2)
    b = _shifted(call, 3, 5, len(call.shape(3)) - 1)
    product = multiplied(call, a, b)
    return _requantized(call, product, (1, 4), (6, 7), len(product.shape) - 1)


def _quantized_conv(call: Call) -> Result:
    bias = cast(call.net, call.any_tensor(8), "float32") if call.has(8) else None
    sums = convolved(call, _shifted(call, 0, 2), _shifted(call, 3, 5, 0), bias)
    return _requantized(call, sums, (1, 4), (6, 7), 1)


HANDLERS: Mapping[str, Handler] = {
    "ConvInteger": _conv_integer,
    "DequantizeLinear": _dequantize,
    "DynamicQuantizeLinear": _quantize_dynamically,
    "MatMulInteger": _matmul_integer,
    "QLinearConv": _quantized_conv,
    "QLinearMatMul": _quantized_matmul,
    "QuantizeLinear": _quantize,
}
"""How each ONNX operator is written in ours."""
