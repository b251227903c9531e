"""Operators over arrays that are known while importing, computed with NumPy: sizes, axes, indices, masks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.onnx.reader.call import Call
from benchmarker.graph.onnx.reader.shaping import axes_of
from benchmarker.graph.onnx.reader.values import Unsupported

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_MAX_ELEMENTS = 2**28
"""Of an array that is filled while importing: a mask of 16,384 positions squared."""
Fold = Callable[[Call, "list[Array]"], Any]
_TYPES = {
    1: np.float32,
    2: np.uint8,
    3: np.int8,
    5: np.int16,
    6: np.int32,
    7: np.int64,
    9: np.bool_,
    10: np.float32,
    11: np.float32,
    16: np.float32,
}
"""NumPy's types of those that ``Cast`` names; real numbers are float32 here, as in the graph."""


def _divide(call: Call, arrays: list[Array]) -> Any:
    a, b = arrays
    if a.dtype.kind == "f":
        return a / b
    # ONNX divides integers towards zero.
    return (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(a.dtype)


def _cast(call: Call, arrays: list[Array]) -> Any:
    to = call.attribute("to")
    if to not in _TYPES:
        raise Unsupported(f"to the type {to}")
    return arrays[0].astype(_TYPES[to])


def _constant(call: Call, arrays: list[Array]) -> Any:
    for name, kind in (("value", None), ("value_float", np.float32), ("value_int", np.int64)):
        for suffix in ("", "s") if kind else ("",):
            value = call.attribute(name + suffix)
            if value is not None:
                return np.asarray(value, kind)
    raise Unsupported("that is not an array of numbers")


def _constant_of_shape(call: Call, arrays: list[Array]) -> Any:
    value = np.asarray(call.attribute("value", np.zeros(1, np.float32)))
    shape = _bounded(int(size) for size in arrays[0])
    return np.full(shape, value.reshape(-1)[0], value.dtype)


def _range(call: Call, arrays: list[Array]) -> Any:
    start, limit, step = (array.reshape(-1)[0].item() for array in arrays)
    _bounded([max(0, math.ceil((limit - start) / step))])
    return np.arange(start, limit, step).astype(arrays[0].dtype)


def _reshape(call: Call, arrays: list[Array]) -> Any:
    x, shape = arrays[0], [int(n) for n in arrays[1]]
    keep = not call.attribute("allowzero", 0)
    return x.reshape([x.shape[i] if n == 0 and keep else n for i, n in enumerate(shape)])


def _squeeze(call: Call, arrays: list[Array]) -> Any:
    return np.squeeze(arrays[0], axes_of(call, 13))


def _unsqueeze(call: Call, arrays: list[Array]) -> Any:
    return np.expand_dims(arrays[0], axes_of(call, 13) or ())


def _slice(call: Call, arrays: list[Array]) -> Any:
    x, starts, ends = arrays[0], arrays[1].tolist(), arrays[2].tolist()
    axes = arrays[3].tolist() if call.has(3) else range(len(starts))
    steps = arrays[4].tolist() if call.has(4) else [1] * len(starts)
    chosen = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps):
        # NumPy counts a negative end from the back, and ONNX ends before the first where it is lower still.
        stop = None if step < 0 and end < -x.shape[axis] else end
        chosen[axis] = slice(start, stop, step)
    return x[tuple(chosen)]


def _older_slice(call: Call, arrays: list[Array]) -> Any:
    starts, ends = call.attribute("starts"), call.attribute("ends")
    chosen = [slice(None)] * arrays[0].ndim
    for axis, start, end in zip(call.axes("axes") or range(len(starts)), starts, ends):
        chosen[axis] = slice(start, end)
    return arrays[0][tuple(chosen)]


def _transpose(call: Call, arrays: list[Array]) -> Any:
    return np.transpose(arrays[0], call.axes("perm"))


def _expand(call: Call, arrays: list[Array]) -> Any:
    shape = np.broadcast_shapes(arrays[0].shape, tuple(arrays[1].tolist()))
    return np.broadcast_to(arrays[0], shape)


def _trilu(call: Call, arrays: list[Array]) -> Any:
    diagonal = int(arrays[1].reshape(-1)[0]) if call.has(1) else 0
    return (np.triu if call.attribute("upper", 1) else np.tril)(arrays[0], diagonal)


def _reduce(function: Callable[..., Any], since: int, call: Call, arrays: list[Array]) -> Any:
    axes = axes_of(call, since)
    keep = bool(call.attribute("keepdims", 1))
    return function(arrays[0], axis=axes, keepdims=keep).astype(arrays[0].dtype)


def _split(call: Call, arrays: list[Array]) -> Any:
    axis, count = call.attribute("axis", 0), len(call.node.outputs)
    sizes = call.axes("split") or (tuple(arrays[1].tolist()) if call.has(1) else None)
    if sizes is None:
        part = -(-arrays[0].shape[axis] // count)
        return tuple(np.split(arrays[0], [part * n for n in range(1, count)], axis))
    return tuple(np.split(arrays[0], np.cumsum(sizes)[:-1], axis))


def _eye(call: Call, arrays: list[Array]) -> Any:
    kind, (rows, columns) = _TYPES.get(call.attribute("dtype", 1), np.float32), arrays[0].shape
    return np.eye(rows, columns, call.attribute("k", 0)).astype(kind)


def _cum_sum(call: Call, arrays: list[Array]) -> Any:
    axis, x = int(arrays[1].reshape(-1)[0]), arrays[0]
    x = np.flip(x, axis) if call.attribute("reverse", 0) else x
    found = np.cumsum(x, axis, dtype=x.dtype)
    found = found - x if call.attribute("exclusive", 0) else found
    return np.flip(found, axis) if call.attribute("reverse", 0) else found


def _gather_elements(call: Call, arrays: list[Array]) -> Any:
    return np.take_along_axis(arrays[0], arrays[1], call.attribute("axis", 0))


def _gather_nd(call: Call, arrays: list[Array]) -> Any:
    x, places = arrays
    batch = call.attribute("batch_dims", 0)
    samples = np.ix_(*map(np.arange, places.shape[: max(batch, 0)])) if batch else ()
    apart = [grid.reshape(*grid.shape, *(1,) * (places.ndim - 1 - batch)) for grid in samples]
    return x[(*apart, *np.moveaxis(places, -1, 0))]


def _scatter_elements(call: Call, arrays: list[Array]) -> Any:
    call.only("reduction", "none")
    found = arrays[0].copy()
    np.put_along_axis(found, arrays[1], arrays[2], call.attribute("axis", 0))
    return found


def _clip(call: Call, arrays: list[Array]) -> Any:
    found, given = arrays[0], iter(arrays[1:])
    low = next(given) if call.has(1) else call.attribute("min")
    high = next(given) if call.has(2) else call.attribute("max")
    found = found if low is None else np.maximum(found, low)
    return (found if high is None else np.minimum(found, high)).astype(arrays[0].dtype)


def _top_k(call: Call, arrays: list[Array]) -> Any:
    x, axis = arrays[0], call.attribute("axis", -1)
    count = int(arrays[1].reshape(-1)[0]) if call.opset >= 10 else call.attribute("k")
    # Of equals the first comes first, also in the order from the largest.
    order = np.argsort(x, axis, kind="stable")
    if call.attribute("largest", 1):
        turned = np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
        order = x.shape[axis] - 1 - turned
    places = np.take(order, np.arange(count), axis)
    return np.take_along_axis(x, places, axis), places.astype(np.int64)


def _scatter_nd(call: Call, arrays: list[Array]) -> Any:
    call.only("reduction", "none")
    found = arrays[0].copy()
    found[tuple(np.moveaxis(arrays[1], -1, 0))] = arrays[2]
    return found


def _compress(call: Call, arrays: list[Array]) -> Any:
    return np.compress(arrays[1].astype(bool), arrays[0], call.attribute("axis"))


def _window(function: Callable[[int], Any], call: Call, arrays: list[Array]) -> Any:
    """Return a window of so many points; a periodic one is that of one more, without the last."""
    size, periodic = int(arrays[0].reshape(-1)[0]), bool(call.attribute("periodic", 1))
    _bounded([size])
    return function(size + periodic)[:size].astype(np.float32)


def _hamming(size: int) -> Any:
    return 25 / 46 - 21 / 46 * np.cos(2 * np.pi * np.arange(size) / max(size - 1, 1))


def _arg(function: Callable[..., Any], call: Call, arrays: list[Array]) -> Any:
    call.only("select_last_index", 0)
    axis = call.attribute("axis", 0)
    found = function(arrays[0], axis).astype(np.int64)
    return np.expand_dims(found, axis) if call.attribute("keepdims", 1) else found


def _one_hot(call: Call, arrays: list[Array]) -> Any:
    indices, depth, values = arrays[0], int(arrays[1].reshape(-1)[0]), arrays[2]
    axis = call.attribute("axis", -1) % (indices.ndim + 1)
    _bounded([*indices.shape, depth])
    places = np.arange(depth).reshape(-1, *(1,) * (indices.ndim - axis))
    hit = np.expand_dims(np.where(indices < 0, indices + depth, indices), axis) == places
    return np.where(hit, values[1], values[0])


def _is_inf(call: Call, arrays: list[Array]) -> Any:
    below, above = call.attribute("detect_negative", 1), call.attribute("detect_positive", 1)
    return (np.isneginf(arrays[0]) & bool(below)) | (np.isposinf(arrays[0]) & bool(above))


def _mod(call: Call, arrays: list[Array]) -> Any:
    return (np.fmod if call.attribute("fmod", 0) else np.mod)(*arrays)


def _bounded(shape: Iterable[int]) -> tuple[int, ...]:
    """Return the shape of an array that is to be filled."""
    sizes = tuple(shape)
    if math.prod(sizes) > _MAX_ELEMENTS:
        raise Unsupported(f"of shape {sizes}, more than {_MAX_ELEMENTS} elements")
    return sizes


def _tile(call: Call, arrays: list[Array]) -> Any:
    x, repeats = arrays[0], [int(n) for n in arrays[1]]
    _bounded(size * n for size, n in zip(x.shape, repeats))
    return np.tile(x, repeats)


def _matmul(call: Call, arrays: list[Array]) -> Any:
    a, b = arrays
    if a.ndim > 1 and b.ndim > 1:
        _bounded((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]))
    return np.matmul(a, b)


def _plain(function: Callable[..., Any], call: Call, arrays: list[Array]) -> Any:
    _bounded(np.broadcast_shapes(*(array.shape for array in arrays)))
    return function(*arrays)


def _joined(function: Callable[..., Any], call: Call, arrays: list[Array]) -> Any:
    _bounded(np.broadcast_shapes(*(array.shape for array in arrays)))
    found = arrays[0]
    for array in arrays[1:]:
        found = function(found, array)
    return found


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "Abs": np.abs,
    "Add": np.add,
    "And": np.logical_and,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseNot": np.invert,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "Ceil": np.ceil,
    "Cos": np.cos,
    "Equal": np.equal,
    "Exp": np.exp,
    "Floor": np.floor,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Identity": np.asarray,
    "IsNaN": np.isnan,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Log": np.log,
    "Mul": np.multiply,
    "Neg": np.negative,
    "Not": np.logical_not,
    "Or": np.logical_or,
    "Pow": np.power,
    "Reciprocal": np.reciprocal,
    "Round": np.round,
    "Sign": np.sign,
    "Sin": np.sin,
    "Sqrt": np.sqrt,
    "Sub": np.subtract,
    "Tanh": np.tanh,
    "Where": np.where,
    "Xor": np.logical_xor,
}
FOLDS: Mapping[str, Fold] = {
    **{name: partial(_plain, function) for name, function in _FUNCTIONS.items()},
    "Cast": _cast,
    "ArgMax": partial(_arg, np.argmax),
    "ArgMin": partial(_arg, np.argmin),
    "BlackmanWindow": partial(_window, np.blackman),
    "CastLike": lambda call, arrays: arrays[0].astype(arrays[1].dtype),
    "Clip": _clip,
    "Compress": _compress,
    "Concat": lambda call, arrays: np.concatenate(arrays, call.attribute("axis")),
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "CumSum": _cum_sum,
    "Div": _divide,
    "Expand": _expand,
    "EyeLike": _eye,
    "Flatten": lambda call, arrays: arrays[0].reshape(
        int(np.prod(arrays[0].shape[: call.attribute("axis", 1)])), -1
    ),
    "Gather": lambda call, arrays: np.take(arrays[0], arrays[1], call.attribute("axis", 0)),
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "HammingWindow": partial(_window, _hamming),
    "HannWindow": partial(_window, np.hanning),
    "IsInf": _is_inf,
    "MatMul": _matmul,
    "Max": partial(_joined, np.maximum),
    "Min": partial(_joined, np.minimum),
    "Mod": _mod,
    "NonZero": lambda call, arrays: np.array(np.nonzero(arrays[0]), np.int64),
    "OneHot": _one_hot,
    "Range": _range,
    "ReduceMax": partial(_reduce, np.max, 18),
    "ReduceMean": partial(_reduce, np.mean, 18),
    "ReduceMin": partial(_reduce, np.min, 18),
    "ReduceProd": partial(_reduce, np.prod, 18),
    "ReduceSum": partial(_reduce, np.sum, 13),
    "Reshape": _reshape,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Sum": partial(_joined, np.add),
    "Tile": _tile,
    "TopK": _top_k,
    "Transpose": _transpose,
    "Trilu": _trilu,
    "Unsqueeze": _unsqueeze,
}
"""What each operator computes of known arrays; absent optional inputs are left out of these."""


def fold(call: Call, arrays: list[Array]) -> tuple[Array, ...]:
    """Return the node's outputs from the arrays of its inputs.

    Raises
    ------
    Unsupported
        If the arrays do not fit the operator.
    """
    older = call.node.operator == "Slice" and call.opset < 10
    function = _older_slice if older else FOLDS[call.node.operator]
    for array in arrays:
        _bounded(array.shape)  # what was only said to be repeated is not filled either
    try:
        with np.errstate(all="ignore"):
            found = function(call, arrays)
    except (ValueError, IndexError, TypeError, ArithmeticError) as error:
        raise Unsupported(f"over arrays that do not fit ({error})") from None
    return tuple(map(np.asarray, found if isinstance(found, tuple) else (found,)))
