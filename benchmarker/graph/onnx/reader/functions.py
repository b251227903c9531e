"""Functions that are rarer than others, each written in operators that every framework has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.elementwise import cast
from benchmarker.graph.onnx.reader.shaping import cut, positive, reshaped
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.recorder import Value

_NEWTON_STEPS = 3
"""From an error of 0.005 to less than 1e-15."""
_LARGE = 1e18
_MAX_PIVOTS = 32
"""Of a determinant that is unrolled."""


def _zero(call: Call) -> Value:
    return call.table(np.float32(0), "zero")


def _hyperbolic(minus: bool, call: Call) -> Result:
    net, x = call.net, call.tensor(0)
    if minus:
        up, down = net.expm1(x), net.expm1(net.affine(x, alpha=-1.0))
        return net.affine(net.sub(up, down), alpha=0.5)
    return net.affine(net.add(net.exp(x), net.exp(net.affine(x, alpha=-1.0))), alpha=0.5)


def _inverse_hyperbolic_sine(call: Call) -> Result:
    net, x = call.net, call.tensor(0)
    size = net.abs(x)
    squares = net.mul(size, size)
    root = net.sqrt(net.affine(squares, beta=1.0))
    more = net.add(size, net.div(squares, net.affine(root, beta=1.0)))
    return net.mul(net.sign(x), net.log1p(more))


def _inverse_hyperbolic_cosine(call: Call) -> Result:
    net, x = call.net, call.tensor(0)
    above = net.affine(x, beta=-1.0)
    root = net.sqrt(net.mul(above, net.affine(x, beta=1.0)))
    return net.log1p(net.add(above, root))


def _inverse_hyperbolic_tangent(call: Call) -> Result:
    net, x = call.net, call.tensor(0)
    return net.affine(net.sub(net.log1p(x), net.log1p(net.affine(x, alpha=-1.0))), alpha=0.5)


def arc_tangent(call: Call, x: Value) -> Value:
    """Return the angle whose tangent is ``x``: a rational guess, and Newton's steps with sine and cosine."""
    net, one = call.net, call.table(np.float32(1), "one")
    size = net.abs(x)
    steep = net.less(one, size)
    t = net.where(steep, net.reciprocal(net.maximum(size, one)), size)
    squares = net.mul(t, t)
    # 28 / 81: the guess is off by 0.005 at most, on [0, 1].
    angle = net.div(t, net.affine(squares, alpha=28.0 / 81.0, beta=1.0))
    for _ in range(_NEWTON_STEPS):
        sine, cosine = net.sin(angle), net.cos(angle)
        angle = net.add(angle, net.mul(cosine, net.sub(net.mul(t, cosine), sine)))
    whole = net.where(steep, net.affine(angle, alpha=-1.0, beta=math.pi / 2), angle)
    found: Value = net.mul(net.sign(x), whole)
    return found


def _arc_tangent(call: Call) -> Result:
    return arc_tangent(call, call.tensor(0))


def _arc_sine(call: Call) -> Value:
    net, x = call.net, call.tensor(0)
    other = net.mul(net.affine(x, alpha=-1.0, beta=1.0), net.affine(x, beta=1.0))
    # At 1 and -1 the tangent is infinite, which a large number stands for.
    return arc_tangent(
        call, net.mul(x, net.minimum(_inverse_root(call, other), call.table(np.float32(_LARGE), "large")))
    )


def _inverse_root(call: Call, x: Value) -> Value:
    found: Value = call.net.reciprocal(call.net.sqrt(x))
    return found


def _arc_cosine(call: Call) -> Result:
    return call.net.affine(_arc_sine(call), alpha=-1.0, beta=math.pi / 2)


def _thresholded(call: Call) -> Result:
    net, x = call.net, call.tensor(0)
    limit = call.table(np.float32(call.attribute("alpha", 1.0)), "limit")
    return net.where(net.less(limit, x), x, _zero(call))


def _shrink(call: Call) -> Result:
    net, x = call.net, call.tensor(0)
    bias, limit = call.attribute("bias", 0.0), call.attribute("lambd", 0.5)
    low, high = (call.table(np.float32(n), what) for n, what in ((-limit, "low"), (limit, "high")))
    middle = net.where(net.less(high, x), net.affine(x, beta=-bias), _zero(call))
    return net.where(net.less(x, low), net.affine(x, beta=bias), middle)


def _hardmax(call: Call) -> Result:
    """Return 1 at the first largest element along an axis, 0 elsewhere; before opset 13 along all from there."""
    x, net = call.tensor(0), call.net
    rank = len(x.shape)
    (axis,) = positive((call.attribute("axis", -1 if call.opset >= 13 else 1),), rank)
    flat = (
        x if call.opset >= 13 else reshaped(call, x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
    )
    along = axis if call.opset >= 13 else 1
    place = net.arg_max(flat, axis=along, keepdims=True)
    places = np.arange(flat.shape[along]).reshape((-1, *(1,) * (len(flat.shape) - along - 1)))
    hot = cast(net, net.equal(place, call.table(places, "places")), "float32")
    return reshaped(call, hot, x.shape)


def _lp_normalization(call: Call) -> Result:
    net, x = call.net, call.tensor(0)
    axes = positive((call.attribute("axis", -1),), len(x.shape))
    if call.attribute("p", 2) == 1:
        size = net.reduce_sum(net.abs(x), axes=axes, keepdims=True)
    else:
        size = net.sqrt(net.reduce_sum(net.mul(x, x), axes=axes, keepdims=True))
    # What has no length stays 0.
    safe = net.where(net.equal(size, _zero(call)), call.table(np.float32(1), "one"), size)
    return net.div(x, safe)


def _mean_variance(call: Call) -> Result:
    net, x = call.net, call.tensor(0)
    axes = positive(call.axes("axes") or (0, 2, 3), len(x.shape))
    apart = net.sub(x, net.reduce_mean(x, axes=axes, keepdims=True))
    variance = net.reduce_mean(net.mul(apart, apart), axes=axes, keepdims=True)
    return net.div(apart, net.affine(net.sqrt(variance), beta=1e-9))


def _response_normalization(call: Call) -> Result:
    """Return ``x`` divided by what its neighbours along the channels are; the sum is a product with a band matrix."""
    net, x = call.net, call.tensor(0)
    size, channels = call.attribute("size"), x.shape[1]
    alpha, beta, bias = (
        call.attribute(name, usual) for name, usual in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))
    )
    before, after = (size - 1) // 2, -(-(size - 1) // 2)
    away = np.arange(channels)[None] - np.arange(channels)[:, None]
    band = call.table(((away >= -before) & (away <= after)).astype(np.float32), "band")
    flat = reshaped(call, x, (x.shape[0], channels, math.prod(x.shape[2:])))
    sums = net.affine(net.matmul(band, net.mul(flat, flat)), alpha=alpha / size, beta=bias)
    power = net.exp(net.affine(net.log(sums), alpha=-beta))
    return reshaped(call, net.mul(flat, power), x.shape)


def product_along_last(call: Call, x: Value) -> Value:
    """Return the product of the last axis, which is gone: halves are multiplied until one is left."""
    net = call.net
    axis = len(x.shape) - 1
    while x.shape[-1] > 1:
        half = x.shape[-1] // 2
        y = net.mul(cut(call, x, axis, 0, half), cut(call, x, axis, half, 2 * half))
        x = (
            y
            if x.shape[-1] == 2 * half
            else net.concat(y, cut(call, x, axis, 2 * half, x.shape[-1]), axis=axis)
        )
    return reshaped(call, x, x.shape[:-1])


def _cumulative_product(call: Call) -> Result:
    """Return products of all elements up to each; the elements are multiplied with those 1, 2, 4, ... before."""
    x, net = call.any_tensor(0), call.net
    rank = len(x.shape)
    (axis,) = positive((int(call.number(1, "an axis")),), rank)
    size = x.shape[axis]
    turned = np.arange(size)[::-1] if call.attribute("reverse", 0) else None
    x = x if turned is None else net.gather(x, call.table(turned, "turned"), axis=axis)
    kind = np.float32 if x.type.dtype == "float32" else np.int64

    def ones(count: int) -> Value:
        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
        return call.table(np.ones(shape, kind), f"ones{count}")

    if call.attribute("exclusive", 0):
        x = ones(1) if size == 1 else net.concat(ones(1), cut(call, x, axis, 0, size - 1), axis=axis)
    step = 1
    while step < size:
        x = net.mul(x, net.concat(ones(step), cut(call, x, axis, 0, size - step), axis=axis))
        step *= 2
    return x if turned is None else net.gather(x, call.table(turned, "turned"), axis=axis)


def _determinant(call: Call) -> Result:
    """Return the determinants of matrices ``(..., n, n)``: the largest number of a column is divided by."""
    x, net = call.tensor(0), call.net
    size, batch = x.shape[-1], x.shape[:-2]
    if size > _MAX_PIVOTS:
        raise Unsupported(f"of {size} rows, of which there may be {_MAX_PIVOTS}")
    row, column = len(batch), len(batch) + 1
    one, minus = (call.table(np.float32(n), f"number{n}") for n in (1, -1))
    found = call.table(np.ones(batch, np.float32), "ones")
    for left in range(size, 0, -1):
        first = reshaped(call, cut(call, x, column, 0, 1), (*batch, left))
        place = net.arg_max(net.abs(first), axis=row, keepdims=True)
        hot = cast(net, net.equal(place, call.table(np.arange(left), f"rows{left}")), "float32")
        pivot = net.matmul(reshaped(call, hot, (*batch, 1, left)), x)
        number = reshaped(call, cut(call, pivot, column, 0, 1), batch)
        swapped = net.less(call.table(np.array(0), "top"), reshaped(call, place, batch))
        found = net.mul(found, net.mul(net.where(swapped, minus, one), number))
        if left == 1:
            break
        # The pivot's row changes places with the first.
        apart = net.sub(pivot, cut(call, x, row, 0, 1))
        rest = net.sub(x, net.mul(reshaped(call, hot, (*batch, left, 1)), apart))
        rest = cut(call, rest, row, 1, left)
        safe = net.where(net.equal(number, _zero(call)), one, number)
        shares = net.div(cut(call, rest, column, 0, 1), reshaped(call, safe, (*batch, 1, 1)))
        x = net.sub(cut(call, rest, column, 1, left), net.mul(shares, cut(call, pivot, column, 1, left)))
    return found


HANDLERS: Mapping[str, Handler] = {
    "Acos": _arc_cosine,
    "Acosh": _inverse_hyperbolic_cosine,
    "Asin": _arc_sine,
    "Asinh": _inverse_hyperbolic_sine,
    "Atan": _arc_tangent,
    "Atanh": _inverse_hyperbolic_tangent,
    "Cosh": partial(_hyperbolic, False),
    "CumProd": _cumulative_product,
    "Det": _determinant,
    "Hardmax": _hardmax,
    "LRN": _response_normalization,
    "LpNormalization": _lp_normalization,
    "MeanVarianceNormalization": _mean_variance,
    "Shrink": _shrink,
    "Sinh": partial(_hyperbolic, True),
    "ThresholdedRelu": _thresholded,
}
"""How each ONNX operator is written in ours."""
