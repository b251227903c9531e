"""Elements put, or added, at places that are known or that a run computes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.elementwise import MAX_FLOAT32, cast
from benchmarker.graph.onnx.reader.functions import product_along_last
from benchmarker.graph.onnx.reader.indexing import flattened, places_of
from benchmarker.graph.onnx.reader.shaping import positive, reshaped
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.recorder import Value

MAX_PAIRS = 2**26
"""Of updates and elements, where several updates of an element are combined."""
_REDUCTIONS = ("add", "mul", "max", "min")


def _scatter_nd(call: Call) -> Result:
    x, depth = call.any_tensor(0), call.shape(1)[-1]
    places = places_of(call, 1, np.array(x.shape[:depth]))
    return _put(call, x, places, call.typed(2, x.type.dtype))


def _scatter_elements(call: Call) -> Result:
    """Return single elements put along an axis: at whole places, of which the other axes are known."""
    x = call.any_tensor(0)
    (axis,) = positive((call.attribute("axis", 0),), len(x.shape))
    along = places_of(call, 1, np.array(x.shape[axis]))
    shape = along.shape
    columns: list[Value] = []
    for other, grid in enumerate(np.indices(shape)):
        column = along if other == axis else call.table(grid, f"axis{other}")
        columns.append(reshaped(call, column, (*shape, 1)))
    places = columns[0] if len(columns) == 1 else call.net.concat(*columns, axis=len(shape))
    return _put(call, x, places, call.typed(2, x.type.dtype))


def _put(call: Call, x: Value, places: Value, updates: Value) -> Value:
    """Return ``x`` with updates at places ``(..., k)``, in their stead or combined with what is there."""
    how = call.attribute("reduction", "none")
    found: Value
    if how == "none":
        found = call.net.scatter_nd(x, places, updates)
        return found
    if how not in _REDUCTIONS:
        raise Unsupported(f"with reduction {how}")
    depth = places.shape[-1]
    slots, rest = math.prod(x.shape[:depth]), math.prod(x.shape[depth:])
    count = math.prod(places.shape[:-1])
    if slots * count > MAX_PAIRS:
        raise Unsupported(f"with reduction {how} of {count} updates over {slots} elements")
    net = call.net
    flat = reshaped(call, flattened(call, places, x.shape[:depth], "strides"), (1, count))
    hit = net.equal(flat, call.table(np.arange(slots)[:, None], "slots"))
    old, new = reshaped(call, x, (slots, rest)), reshaped(call, updates, (count, rest))
    return reshaped(call, _combined(call, how, old, new, hit), x.shape)


def _combined(call: Call, how: str, old: Value, new: Value, hit: Value) -> Value:
    """Return what is there ``(slots, rest)`` with updates ``(count, rest)`` where ``hit (slots, count)``."""
    net, real = call.net, old.type.dtype == "float32"
    found: Value
    if how == "add":
        total = net.matmul(cast(net, hit, "float32"), cast(net, new, "float32"))
        found = net.add(old, total if real else cast(net, net.round(total), "int64"))
        return found
    (slots, count), rest = hit.shape, new.shape[1]
    if slots * count * rest > MAX_PAIRS:
        raise Unsupported(f"with reduction {how} of {count} rows over {slots}")
    far = MAX_FLOAT32 if real else 2**62
    neutral = {"mul": 1, "max": -far, "min": far}[how]
    kept = call.table(np.array(neutral, np.float32 if real else np.int64), "neutral")
    each = net.where(
        reshaped(call, hit, (slots, 1, count)),
        reshaped(call, net.transpose(new, perm=(1, 0)), (1, rest, count)),
        kept,
    )
    if how == "mul":
        found = net.mul(old, product_along_last(call, each))
    elif how == "max":
        found = net.maximum(old, net.reduce_max(each, axes=(2,)))
    else:
        minus = call.table(np.array(-1, np.float32 if real else np.int64), "minus")
        found = net.minimum(old, net.mul(net.reduce_max(net.mul(each, minus), axes=(2,)), minus))
    return found


HANDLERS: Mapping[str, Handler] = {
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
}
"""How each ONNX operator is written in ours."""
