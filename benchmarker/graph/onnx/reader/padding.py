"""Padding, also by what is inside, and cutting off at the borders."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.shaping import cut, positive
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.recorder import Value

_MODES = {"edge": "edge", "reflect": "reflect", "wrap": "wrap"}


def _pads(call: Call, rank: int) -> list[int]:
    """Return the begins of all axes, then the ends."""
    if call.opset < 11:
        return list(call.axes("pads") or call.axes("paddings") or ())
    pads = list(call.integers(1, "pads"))
    if not call.has(3):
        return pads
    axes, full = positive(call.integers(3, "axes"), rank), [0] * (2 * rank)
    for place, axis in enumerate(axes):
        full[axis], full[rank + axis] = pads[place], pads[len(axes) + place]
    return full


def _pad(call: Call) -> Result:
    x = call.any_tensor(0)
    rank, mode = len(x.shape), call.attribute("mode", "constant")
    pads = _pads(call, rank)
    for axis in range(rank):
        less, more = (max(0, -pads[place]) for place in (axis, rank + axis))
        if less + more >= x.shape[axis]:
            raise Unsupported("that leaves nothing")
        x = cut(call, x, axis, less, x.shape[axis] - more)
    pads = [max(0, pad) for pad in pads]
    if not any(pads):
        return x
    if mode == "constant":
        return _surrounded(call, x, pads)
    if mode not in _MODES:
        raise Unsupported(f"with mode {mode}")
    for axis in range(rank):
        around = (pads[axis], pads[rank + axis])
        if any(around):
            rows = np.pad(np.arange(x.shape[axis]), around, mode=mode)
            x = call.net.gather(x, call.table(rows, f"rows{axis}"), axis=axis)
    return x


def _surrounded(call: Call, x: Value, pads: list[int]) -> Value:
    """Return a tensor with a constant around it; integers and truth values with tables of it."""
    if call.opset < 11:
        value = call.attribute("value", 0.0)
    else:
        value = call.known(2, "a value").reshape(-1)[0] if call.has(2) else 0
    found: Value
    if x.type.dtype == "float32":
        found = call.net.pad(x, pads=tuple(pads), value=float(value))
        return found
    kind, rank = np.int64 if x.type.dtype == "int64" else np.bool_, len(x.shape)
    for axis in range(rank):
        sides: list[list[Value]] = []
        for count in (pads[axis], pads[rank + axis]):
            shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
            name = f"side{axis}_{len(sides)}"
            sides.append([call.table(np.full(shape, value, kind), name)] if count else [])
        parts = [*sides[0], x, *sides[1]]
        x = parts[0] if len(parts) == 1 else call.net.concat(*parts, axis=axis)
    return x


def _centred(call: Call) -> Result:
    """Return the middle of each axis, or the axis in the middle of zeros."""
    x = call.tensor(0)
    rank = len(x.shape)
    axes = positive(call.axes("axes") or tuple(range(rank)), rank)
    pads = [0] * (2 * rank)
    for axis, wanted in zip(axes, call.integers(1, "a shape")):
        size = x.shape[axis]
        if wanted < size:
            start = (size - wanted) // 2
            x = cut(call, x, axis, start, start + wanted)
        pads[axis] = max(0, wanted - size) // 2
        pads[rank + axis] = max(0, wanted - size) - pads[axis]
    return call.net.pad(x, pads=tuple(pads), value=0.0) if any(pads) else x


HANDLERS: Mapping[str, Handler] = {"CenterCropPad": _centred, "Pad": _pad}
"""How each ONNX operator is written in ours."""
