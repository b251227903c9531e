"""Attention and what turns its queries and keys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.elementwise import MIN_FLOAT32, cast
from benchmarker.graph.onnx.reader.shaping import reshaped
from benchmarker.graph.onnx.reader.values import Known, Unsupported
from benchmarker.graph.recorder import Value

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def _attention(call: Call) -> Result:
    _check(call)
    q = _heads(call, 0, "q_num_heads")
    k, v = _heads(call, 1, "kv_num_heads"), _heads(call, 2, "kv_num_heads")
    before = call.shape(4)[2] if call.has(4) else 0
    if before:
        k = call.net.concat(call.tensor(4), k, axis=2)
        v = call.net.concat(call.tensor(5), v, axis=2)
    present = (k, v)
    groups = q.shape[1] // k.shape[1]
    wide_k, wide_v = (_each_group(call, tensor, groups) for tensor in present)
    causal = bool(call.attribute("is_causal", 0))
    # The vocabulary's own causal mask is of as many queries as keys.
    square = causal and q.shape[2] == k.shape[2] and not before
    seen = _seen(call, q.shape[2], k.shape[2], before if causal else None)
    square = square and seen is None
    if seen is None:
        mask = _mask(call, q.shape, k.shape[2], before if causal and not square else None)
    else:
        mask = call.net.where(seen, _number(call, 0.0), _number(call, MIN_FLOAT32))
    scale = call.attribute("scale") or 1.0 / math.sqrt(q.shape[-1])
    y = call.net.attention(q, wide_k, wide_v, mask, scale=scale, is_causal=square)
    if seen is not None:
        # A query that sees no key gets nothing.
        some = call.net.reduce_max(
            cast(call.net, seen, "float32"), axes=(len(seen.shape) - 1,), keepdims=True
        )
        y = call.net.mul(y, some)
    if len(call.shape(0)) == 3:
        count, heads, length, width = y.shape
        moved = call.net.transpose(y, perm=(0, 2, 1, 3))
        y = call.net.reshape(moved, shape=(count, length, heads * width))
    return (y, *present)


def _check(call: Call) -> None:
    if call.attribute("softcap", 0.0):
        raise Unsupported("with a softcap")
    for name in ("left_window_size", "right_window_size"):
        call.only(name, -1)
    call.absent(6, "lengths of the keys")
    call.unused(3, "scores")


def _heads(call: Call, position: int, name: str) -> Value:
    """Return queries, keys or values as ``(N, heads, L, d)``."""
    x = call.tensor(position)
    if len(x.shape) == 4:
        return x
    heads = call.attribute(name)
    count, length, width = x.shape
    apart = call.net.reshape(x, shape=(count, length, heads, width // heads))
    found: Value = call.net.transpose(apart, perm=(0, 2, 1, 3))
    return found


def _each_group(call: Call, x: Value, groups: int) -> Value:
    """Return keys or values that several heads share, once for each of these."""
    if groups == 1:
        return x
    count, heads, length, width = x.shape
    apart = call.net.reshape(x, shape=(count, heads, 1, length, width))
    wide = call.net.expand(apart, shape=(count, heads, groups, length, width))
    return reshaped(call, wide, (count, heads * groups, length, width))


def _number(call: Call, number: float) -> Value:
    return call.table(np.float32(number), "zero" if number == 0 else "lowest")


def _seen(call: Call, queries: int, keys: int, before: int | None) -> Value | None:
    """Return which keys a query sees, where a mask of truth values that a run decides tells it."""
    given = call.operand(3) if call.has(3) else None
    if not isinstance(given, Value) or given.type.dtype != "bool":
        return None
    if given.shape[-1] != keys:
        raise Unsupported("with a mask of fewer keys")
    mask = reshaped(call, given, (1,) * (4 - len(given.shape)) + given.shape)
    if before is None:
        return mask
    earlier = call.table(np.isfinite(_causal(queries, keys, before)), "earlier")
    found: Value = call.net.logical_and(mask, earlier)
    return found


def _mask(call: Call, queries: tuple[int, ...], keys: int, before: int | None) -> Value | None:
    """Return what is added to the scores; ``before`` keys come before the first query of a causal mask."""
    causal = None if before is None else _causal(queries[2], keys, before)
    if not call.has(3):
        return None if causal is None else call.table(causal, "causal")
    given = call.operand(3)
    if isinstance(given, Value):
        mask = call.tensor(3)
        if mask.shape[-1] != keys:
            raise Unsupported("with a mask of fewer keys")
        mask = reshaped(call, mask, (1,) * (4 - len(mask.shape)) + mask.shape)
        return mask if causal is None else call.net.add(mask, call.table(causal, "causal"))
    array = _additive(given.array)
    missing = keys - array.shape[-1]
    array = np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, missing)], constant_values=-np.inf)
    whole = array if causal is None else array + causal
    if np.isneginf(whole).all(axis=-1).any():
        raise Unsupported("with queries that see no key")
    return call.table(whole.reshape((1,) * (4 - whole.ndim) + whole.shape), "mask")


def _additive(mask: Array) -> Array:
    if mask.dtype == np.bool_:
        return np.where(mask, np.float32(0), np.float32(-np.inf))
    return mask.astype(np.float32)


def _causal(queries: int, keys: int, before: int) -> Array:
    seen = np.arange(keys) <= np.arange(queries)[:, None] + before
    return np.where(seen, np.float32(0), np.float32(-np.inf)).reshape(1, 1, queries, keys)


def _rotary_embedding(call: Call) -> Result:
    x = call.tensor(0)
    flat = len(x.shape) == 3
    if flat:
        heads = call.attribute("num_heads")
        count, length, width = x.shape
        apart = call.net.reshape(x, shape=(count, length, heads, width // heads))
        x = call.net.transpose(apart, perm=(0, 2, 1, 3))
    turned = _turned(call, x)
    if not flat:
        return turned
    moved = call.net.transpose(turned, perm=(0, 2, 1, 3))
    return call.net.reshape(moved, shape=call.shape(0))


def _turned(call: Call, x: Value) -> Value:
    """Return ``x (N, heads, L, d)`` with its first features rotated."""
    size = x.shape[-1]
    part = call.attribute("rotary_embedding_dim", 0) or size
    cos, sin = _cache(call, 1, x.shape[2]), _cache(call, 2, x.shape[2])
    first = x if part == size else _features(call, x, 0, part)
    rotate = _interleaved if call.attribute("interleaved", 0) else _halves
    turned = rotate(call, first, cos, sin)
    if part == size:
        return turned
    found: Value = call.net.concat(turned, _features(call, x, part, size), axis=-1)
    return found


def _cache(call: Call, position: int, length: int) -> Value:
    """Return sines or cosines as ``(L, d / 2)`` where samples share them, else as ``(N, 1, L, d / 2)``."""
    table = call.tensor(position)
    if call.has(3):
        positions = call.operand(3)
        if isinstance(positions, Known) and (positions.array == np.arange(length)).all():
            return _rows(call, table, length)
        table = call.net.gather(table, call.any_tensor(3))
    each = (1,) if table.shape[0] > 1 else ()
    return reshaped(call, table, (*table.shape[: len(each)], *each, *table.shape[1:]))


def _rows(call: Call, table: Value, count: int) -> Value:
    if table.shape[0] == count:
        return table
    found: Value = call.net.slice(table, axes=(0,), starts=(0,), ends=(count,))
    return found


def _features(call: Call, x: Value, start: int, end: int, step: int = 1) -> Value:
    steps = (step,) if step > 1 else ()
    found: Value = call.net.slice(x, axes=(3,), starts=(start,), ends=(end,), steps=steps)
    return found


def _halves(call: Call, x: Value, cos: Value, sin: Value) -> Value:
    if len(cos.shape) == 2:
        shared: Value = call.net.rotary_embedding(x, cos, sin)
        return shared
    first, second = call.net.split(x, axis=-1, num_outputs=2)
    real, imaginary = _rotated(call, first, second, cos, sin)
    found: Value = call.net.concat(real, imaginary, axis=-1)
    return found


def _rotated(call: Call, first: Value, second: Value, cos: Value, sin: Value) -> tuple[Value, Value]:
    net = call.net
    real = net.sub(net.mul(cos, first), net.mul(sin, second))
    return real, net.add(net.mul(sin, first), net.mul(cos, second))


def _interleaved(call: Call, x: Value, cos: Value, sin: Value) -> Value:
    """Return ``x`` with each even feature and the odd one after it rotated as a pair."""
    size = x.shape[-1]
    even, odd = _features(call, x, 0, size, 2), _features(call, x, 1, size, 2)
    turned = _rotated(call, even, odd, cos, sin)
    pairs = [call.net.reshape(part, shape=(*part.shape, 1)) for part in turned]
    return reshaped(call, call.net.concat(*pairs, axis=-1), x.shape)


HANDLERS: Mapping[str, Handler] = {"Attention": _attention, "RotaryEmbedding": _rotary_embedding}
"""How each ONNX operator is written in ours."""
