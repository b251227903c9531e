"""Operators that take or put elements at places that are known, or that a run computes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.indices import is_from_front
from benchmarker.graph.onnx.reader.shaping import cut, positive, reshaped
from benchmarker.graph.onnx.reader.values import Known, Unsupported
from benchmarker.graph.recorder import Value

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def places_of(call: Call, position: int, sizes: Array) -> Value:
    """Return indices that count from the front; ``sizes`` are those of what they index."""
    found = call.operand(position)
    if isinstance(found, Known):
        if not found.array.size:
            raise Unsupported("with no indices")
        flat = np.where(found.array < 0, found.array + sizes, found.array)
        if (flat < 0).any() or (flat >= sizes).any():
            raise Unsupported(f"with indices outside of the sizes {sizes.tolist()}")
        return call.table(flat.astype(np.int64), "places")
    value, network = call.typed(position, "int64"), call.declared.network
    if is_from_front(network, value.name):
        return value
    net = call.net
    before = net.less(value, call.table(np.array(0), "front"))
    wrapped: Value = net.where(before, net.add(value, call.table(sizes.astype(np.int64), "sizes")), value)
    return wrapped


def _gather(call: Call) -> Result:
    """Return rows of a table; known neighbours are cut out."""
    x, indices = call.any_tensor(0), call.operand(1)
    (axis,) = positive((call.attribute("axis", 0),), len(x.shape))
    if isinstance(indices, Known):
        rows = _neighbours(call, x, indices, axis)
        if rows is not None:
            return rows
    return call.net.gather(x, places_of(call, 1, np.array(x.shape[axis])), axis=axis)


def _neighbours(call: Call, x: Value, indices: Known, axis: int) -> Value | None:
    size = x.shape[axis]
    flat = [int(n) + (size if n < 0 else 0) for n in indices.array.reshape(-1)]
    if not flat or min(flat) < 0 or max(flat) >= size:
        raise Unsupported(f"with indices outside of the {size} rows")
    first, count = flat[0], len(flat)
    if flat != list(range(first, first + count)):
        return None
    rows = cut(call, x, axis, first, first + count)
    return reshaped(call, rows, (*x.shape[:axis], *indices.array.shape, *x.shape[axis + 1 :]))


def _gather_elements(call: Call) -> Result:
    x = call.any_tensor(0)
    (axis,) = positive((call.attribute("axis", 0),), len(x.shape))
    places = places_of(call, 1, np.array(x.shape[axis]))
    for other, size in enumerate(places.shape):
        x = x if other == axis else cut(call, x, other, 0, size)
    return call.net.gather_elements(x, places, axis=axis)


def _gather_nd(call: Call) -> Result:
    """Return slices at whole places: rows of what these axes are as one."""
    x, batch = call.any_tensor(0), call.attribute("batch_dims", 0)
    indices = call.shape(1)
    depth = indices[-1]
    sizes, rest = x.shape[batch : batch + depth], x.shape[batch + depth :]
    flat = flattened(call, places_of(call, 1, np.array(sizes)), sizes, "strides")
    samples, count = math.prod(x.shape[:batch]), math.prod(sizes)
    if samples > 1:
        flat = reshaped(call, flat, (samples, math.prod(indices[batch:-1])))
        flat = call.net.add(flat, call.table(np.arange(samples)[:, None] * count, "samples"))
    rows = reshaped(call, x, (samples * count, *rest))
    taken = call.net.gather(rows, reshaped(call, flat, (math.prod(indices[:-1]),)), axis=0)
    return reshaped(call, taken, (*indices[:-1], *rest))


def flattened(call: Call, places: Value, sizes: tuple[int, ...], what: str) -> Value:
    """Return one index for each place ``(..., k)`` in an array of ``sizes``, whose axes become one."""
    strides = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    if len(sizes) == 1:
        return reshaped(call, places, places.shape[:-1])
    scaled = call.net.mul(places, call.table(np.array(strides), what))
    total: Value = call.net.reduce_sum(scaled, axes=(len(places.shape) - 1,))
    return total


def _trilu(call: Call) -> Result:
    """Return a triangle of matrices, of which the rest is 0."""
    x, net = call.any_tensor(0), call.net
    diagonal = int(call.number(1, "a diagonal")) if call.has(1) else 0
    whole = np.ones(x.shape[-2:], bool)
    kept = call.table(
        np.triu(whole, diagonal) if call.attribute("upper", 1) else np.tril(whole, diagonal), "kept"
    )
    if x.type.dtype == "bool":
        return net.logical_and(x, kept)
    nothing = np.zeros((), np.float32 if x.type.dtype == "float32" else np.int64)
    return net.where(kept, x, call.table(nothing, "zero"))


def _one_hot(call: Call) -> Result:
    """Return one value where an index is, another one elsewhere."""
    net, depth = call.net, int(call.number(1, "a depth"))
    values = call.known(2, "values")
    indices = call.any_tensor(0)
    places = indices if indices.type.dtype == "int64" else net.cast(indices, to="int64")
    rank = len(places.shape)
    (axis,) = positive((call.attribute("axis", -1),), rank + 1)
    shape = (*places.shape[:axis], 1, *places.shape[axis:])
    classes = np.arange(depth).reshape((depth, *(1,) * (rank - axis)))
    column = reshaped(call, places, shape)
    # An index may count from the back.
    first = net.equal(column, call.table(classes, "classes"))
    inside = net.logical_or(first, net.equal(column, call.table(classes - depth, "from_back")))
    return net.where(inside, call.table(values[1], "on"), call.table(values[0], "off"))


HANDLERS: Mapping[str, Handler] = {
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "OneHot": _one_hot,
    "Trilu": _trilu,
}
"""How each ONNX operator is written in ours."""
