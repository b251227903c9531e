"""Reductions; those that ONNX defines as functions of others come as these functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.shaping import axes_of, positive
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.recorder import Value

_SUM_TAKES_AXES, _OTHERS_TAKE_AXES = 13, 18
"""The opsets from which on the axes are an input."""
_UNCHANGED_WITHOUT_AXES = ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum")
Reduction = Callable[[Call, Value, "tuple[int, ...]", bool], Value]


def _reduce(operator: str, call: Call, x: Value, axes: tuple[int, ...], keep: bool) -> Value:
    found: Value = getattr(call.net, operator)(x, axes=axes, keepdims=keep)
    return found


def _minimum(call: Call, x: Value, axes: tuple[int, ...], keep: bool) -> Value:
    negative = call.net.affine(x, alpha=-1.0)
    found: Value = call.net.affine(_reduce("reduce_max", call, negative, axes, keep), alpha=-1.0)
    return found


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
    x, axes = call.tensor(0), axes_of(call, since)
    if not axes:
        if call.attribute("noop_with_empty_axes", 0):
            if call.node.operator in _UNCHANGED_WITHOUT_AXES:
                return x
            raise Unsupported("over no axes")
        axes = tuple(range(len(x.shape)))
    places = tuple(sorted(positive(axes, len(x.shape))))
    return reduce(call, x, places, bool(call.attribute("keepdims", 1)))


def _top_k(call: Call) -> Result:
    call.unused(1, "indices")
    call.only("largest", 1)
    x = call.tensor(0)
    count = call.attribute("k") if call.opset < 10 else int(call.number(1, "a count"))
    if positive((call.attribute("axis", -1),), len(x.shape)) != (len(x.shape) - 1,):
        raise Unsupported("along an axis that is not the last")
    return call.net.top_k(x, k=count)


_REDUCTIONS: Mapping[str, Reduction] = {
    "ReduceL1": _norm1,
    "ReduceL2": _norm2,
    "ReduceLogSum": _log_sum,
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": partial(_reduce, "reduce_max"),
    "ReduceMean": partial(_reduce, "reduce_mean"),
    "ReduceMin": _minimum,
    "ReduceSumSquare": _squares,
}
HANDLERS: Mapping[str, Handler] = {
    **{name: partial(_reduction, reduce, _OTHERS_TAKE_AXES) for name, reduce in _REDUCTIONS.items()},
    "ReduceSum": partial(_reduction, partial(_reduce, "reduce_sum"), _SUM_TAKES_AXES),
    "TopK": _top_k,
}
"""How each ONNX operator is written in ours."""
