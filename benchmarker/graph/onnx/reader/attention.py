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
    call.absent(6, "lengths of the keys")
    q = _heads(call, 0, "q_num_heads")
    k, v = _heads(call, 1, "kv_num_heads"), _heads(call, 2, "kv_num_heads")
    before = call.shape(4)[2] if call.has(4) else 0
    if before:
        k = call.net.concat(call.tensor(4), k, axis=2)
        v = call.net.concat(call.tensor(5), v, axis=2)
    present = (k, v)
    groups = q.shape[1] // k.shape[1]
    wide_k, wide_v = (_each_group(call, tensor, groups) for tensor in present)
    near = _near(call, q.shape[2], k.shape[2], before)
    decomposed = bool(call.attribute("softcap", 0.0)) or call.uses(3)
    seen = _seen(call, k.shape[2], near)
    # The vocabulary's own causal mask is of as many queries as keys.
    square = seen is None and not decomposed and _is_causal_square(call, q.shape[2], k.shape[2], before)
    if seen is None:
        mask = _mask(call, k.shape[2], None if square else near)
    else:
        mask = call.net.where(seen, _number(call, 0.0), _number(call, MIN_FLOAT32))
    scale = call.attribute("scale") or 1.0 / math.sqrt(q.shape[-1])
    # A query that sees no key gets nothing.
    some = None if seen is None else _sees_some(call, seen)
    scores: Value | None = None
    if decomposed:
        y, scores = _decomposed(call, (q, wide_k, wide_v), mask, some, scale)
    else:
        y = call.net.attention(q, wide_k, wide_v, mask, scale=scale, is_causal=square)
        y = y if some is None else call.net.mul(y, some)
    if len(call.shape(0)) == 3:
        count, heads, length, width = y.shape
        moved = call.net.transpose(y, perm=(0, 2, 1, 3))
        y = call.net.reshape(moved, shape=(count, length, heads * width))
    return (y, *present, scores)


def _is_causal_square(call: Call, queries: int, keys: int, before: int) -> bool:
    """Whether all that limits what a query sees is that keys do not come after it."""
    windows = [call.attribute(name, -1) for name in ("left_window_size", "right_window_size")]
    return bool(call.attribute("is_causal", 0)) and queries == keys and not before and max(windows) < 0


def _sees_some(call: Call, seen: Value) -> Value:
    found: Value = call.net.reduce_max(
        cast(call.net, seen, "float32"), axes=(len(seen.shape) - 1,), keepdims=True
    )
    return found


def _decomposed(
    call: Call, operands: tuple[Value, Value, Value], mask: Value | None, some: Value | None, scale: float
) -> tuple[Value, Value]:
    """Return attention whose scores are capped before the mask is added, and the scores as the node shows them."""
    net, (q, k, v), cap = call.net, operands, call.attribute("softcap", 0.0)
    plain = net.matmul(net.affine(q, alpha=scale), net.transpose(k, perm=(0, 1, 3, 2)))
    capped = net.affine(net.tanh(net.affine(plain, alpha=1.0 / cap)), alpha=cap) if cap else plain
    added = capped if mask is None else net.add(capped, mask)
    shares = net.softmax(added, axis=-1)
    shares = shares if some is None else net.mul(shares, some)
    shown: Value = (plain, capped, added, shares)[call.attribute("qk_matmul_output_mode", 0)]
    return net.matmul(shares, v), shown


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


def _seen(call: Call, keys: int, near: Array | None) -> Value | None:
    """Return which keys a query sees, where a mask of truth values that a run decides tells it."""
    given = call.operand(3) if call.has(3) else None
    if not isinstance(given, Value) or given.type.dtype != "bool":
        return None
    if given.shape[-1] != keys:
        raise Unsupported("with a mask of fewer keys")
    mask = reshaped(call, given, (1,) * (4 - len(given.shape)) + given.shape)
    if near is None:
        return mask
    found: Value = call.net.logical_and(mask, call.table(near, "near"))
    return found


def _mask(call: Call, keys: int, near: Array | None) -> Value | None:
    """Return what is added to the scores: the node's own mask, and that of the keys that are not near."""
    far = None if near is None else _additive(near)
    if not call.has(3):
        return None if far is None else call.table(far, "far")
    given = call.operand(3)
    if isinstance(given, Value):
        mask = call.tensor(3)
        if mask.shape[-1] != keys:
            raise Unsupported("with a mask of fewer keys")
        mask = reshaped(call, mask, (1,) * (4 - len(mask.shape)) + mask.shape)
        return mask if far is None else call.net.add(mask, call.table(far, "far"))
    array = _additive(given.array)
    missing = keys - array.shape[-1]
    array = np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, missing)], constant_values=-np.inf)
    whole = array if far is None else array + far
    if np.isneginf(whole).all(axis=-1).any():
        raise Unsupported("with queries that see no key")
    return call.table(whole.reshape((1,) * (4 - whole.ndim) + whole.shape), "mask")


def _additive(mask: Array) -> Array:
    if mask.dtype == np.bool_:
        return np.where(mask, np.float32(0), np.float32(-np.inf))
    return mask.astype(np.float32)


def _near(call: Call, queries: int, keys: int, before: int) -> Array | None:
    """Return which keys a query sees by where both stand, ``before`` keys before the first query; None if all."""
    left, right = call.attribute("left_window_size", -1), call.attribute("right_window_size", -1)
    away = np.arange(keys) - np.arange(queries)[:, None] - before
    seen = np.ones(away.shape, bool)
    if call.attribute("is_causal", 0):
        seen &= away <= 0
    if left >= 0:
        seen &= away >= -left
    if right >= 0:
        seen &= away <= right
    return None if seen.all() else seen.reshape(1, 1, queries, keys)


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
