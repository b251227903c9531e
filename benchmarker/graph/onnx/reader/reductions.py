"""Reductions; those that ONNX defines as functions of others come as these functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.elementwise import cast, negated
from benchmarker.graph.onnx.reader.functions import product_along_last
from benchmarker.graph.onnx.reader.shaping import axes_of, positive, reshaped
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.recorder import Value

_SUM_TAKES_AXES, _OTHERS_TAKE_AXES = 13, 18
"""The opsets from which on the axes are an input."""
_UNCHANGED_WITHOUT_AXES = ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum")
_OVER_INTEGERS = ("ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum")
Reduction = Callable[[Call, Value, "tuple[int, ...]", bool], Value]


def _reduce(operator: str, call: Call, x: Value, axes: tuple[int, ...], keep: bool) -> Value:
    found: Value = getattr(call.net, operator)(x, axes=axes, keepdims=keep)
    return found


def _minimum(call: Call, x: Value, axes: tuple[int, ...], keep: bool) -> Value:
    return negated(call, _reduce("reduce_max", call, negated(call, x), axes, keep))


def _norm1(call: Call, x: Value, axes: tuple[int, ...], keep: bool) -> Value:
    return _reduce("reduce_sum", call, call.net.abs(x), axes, keep)


def _squares(call: Call, x: Value, axes: tuple[int, ...], keep: bool) -> Value:
    return _reduce("reduce_sum", call, call.net.mul(x, x), axes, keep)


def _norm2(call: Call, x: Value, axes: tuple[int, ...], keep: bool) -> Value:
    found: Value = call.net.sqrt(_squares(call, x, axes, keep))
    return found


def _log_sum(call: Call, x: Value, axes: tuple[int, ...], keep: bool) -> Value:
    found: Value = call.net.log(_reduce("reduce_sum", call, x, axes, keep))
    return found


def _log_sum_exp(call: Call, x: Value, axes: tuple[int, ...], keep: bool) -> Value:
    """Return the logarithm of a sum of exponentials, none of which overflows."""
    largest = _reduce("reduce_max", call, x, axes, True)
    total = _reduce("reduce_sum", call, call.net.exp(call.net.sub(x, largest)), axes, keep)
    added = largest if keep else call.net.reshape(largest, shape=total.shape)
    found: Value = call.net.add(call.net.log(total), added)
    return found


def _reduction(reduce: Reduction, since: int, call: Call) -> Result:
    x, axes = call.any_tensor(0), axes_of(call, since)
    truth = x.type.dtype == "bool" and call.node.operator in ("ReduceMax", "ReduceMin")
    if x.type.dtype != "float32" and not truth and call.node.operator not in _OVER_INTEGERS:
        raise Unsupported("over integers")
    x = cast(call.net, x, "int64") if truth else x
    if not axes:
        if call.attribute("noop_with_empty_axes", 0):
            if call.node.operator in _UNCHANGED_WITHOUT_AXES:
                return x
            raise Unsupported("over no axes")
        axes = tuple(range(len(x.shape)))
    places = tuple(sorted(positive(axes, len(x.shape))))
    found = reduce(call, x, places, bool(call.attribute("keepdims", 1)))
    return cast(call.net, found, "bool") if truth else found


def _top_k(call: Call) -> Result:
    """Return the largest elements and their places; the smallest are the largest of the negative.

    Integers are ordered as real numbers, which is exact up to 2^24 in float32.
    """
    x, net = call.any_tensor(0), call.net
    count = call.attribute("k") if call.opset < 10 else int(call.number(1, "a count"))
    rank = len(x.shape)
    (axis,) = positive((call.attribute("axis", -1),), rank)
    order = tuple(range(rank))
    perm = (*order[:axis], *order[axis + 1 :], axis)
    x = x if perm == order else net.transpose(x, perm=perm)
    smallest, real = not call.attribute("largest", 1), x.type.dtype == "float32"
    keys = cast(net, x, "float32")
    keys = negated(call, keys) if smallest else keys

    def turned_back(y: Value) -> Value:
        back = tuple(int(place) for place in np.argsort(perm))
        found: Value = y if perm == order else net.transpose(y, perm=back)
        return found

    places = net.top_k_indices(keys, k=count) if call.uses(1) or not real else None
    top: Value | None = None
    if not real:
        top = net.gather_elements(x, places, axis=rank - 1)
    elif call.uses(0):
        top = net.top_k(keys, k=count)
        top = negated(call, top) if smallest else top
    return tuple(found if found is None else turned_back(found) for found in (top, places))


def _extreme_place(smallest: bool, call: Call) -> Result:
    """Return ``ArgMax`` or ``ArgMin``; the last one of equals is the first one from the end."""
    x, net = call.any_tensor(0), call.net
    (axis,) = positive((call.attribute("axis", 0),), len(x.shape))
    x = cast(net, x, "int64") if x.type.dtype == "bool" else x
    x = negated(call, x) if smallest else x
    last = bool(call.attribute("select_last_index", 0))
    size = x.shape[axis]
    if last:
        x = net.gather(x, call.table(np.arange(size)[::-1], "backwards"), axis=axis)
    place = net.arg_max(x, axis=axis, keepdims=bool(call.attribute("keepdims", 1)))
    return net.sub(call.table(np.array(size - 1), "last"), place) if last else place


def _cum_sum(call: Call) -> Result:
    x = call.any_tensor(0)
    axis = int(call.number(1, "an axis"))
    exclusive, reverse = (bool(call.attribute(name, 0)) for name in ("exclusive", "reverse"))
    return call.net.cum_sum(x, axis=axis, exclusive=exclusive, reverse=reverse)


def _product(call: Call, x: Value, axes: tuple[int, ...], keep: bool) -> Value:
    """Return products over axes, which come last and become one for that."""
    rest = [axis for axis in range(len(x.shape)) if axis not in axes]
    kept = tuple(x.shape[axis] for axis in rest)
    perm = (*rest, *axes)
    moved = x if perm == tuple(range(len(perm))) else call.net.transpose(x, perm=perm)
    found = product_along_last(call, reshaped(call, moved, (*kept, x.type.elements // math.prod(kept))))
    shape = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    return reshaped(call, found, shape) if keep else found


_REDUCTIONS: Mapping[str, Reduction] = {
    "ReduceL1": _norm1,
    "ReduceL2": _norm2,
    "ReduceLogSum": _log_sum,
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": partial(_reduce, "reduce_max"),
    "ReduceMean": partial(_reduce, "reduce_mean"),
    "ReduceMin": _minimum,
    "ReduceProd": _product,
    "ReduceSumSquare": _squares,
}
HANDLERS: Mapping[str, Handler] = {
    **{name: partial(_reduction, reduce, _OTHERS_TAKE_AXES) for name, reduce in _REDUCTIONS.items()},
    "ReduceSum": partial(_reduction, partial(_reduce, "reduce_sum"), _SUM_TAKES_AXES),
    "ArgMax": partial(_extreme_place, False),
    "ArgMin": partial(_extreme_place, True),
    "CumSum": _cum_sum,
    "TopK": _top_k,
}
"""How each ONNX operator is written in ours."""
