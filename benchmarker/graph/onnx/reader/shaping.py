"""Operators that move elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.values import Known, Unsupported
from benchmarker.graph.recorder import Value


def positive(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return axes that count from the front."""
    if any(not -rank <= axis < rank for axis in axes):
        raise Unsupported(f"over axes {tuple(axes)} of {rank}")
    return tuple(axis % rank for axis in axes)


def axes_of(call: Call, since: int) -> tuple[int, ...] | None:
    """Return the axes of ``Squeeze``, ``Unsqueeze`` or a reduction: an input from opset ``since`` on."""
    if call.opset < since:
        return call.axes("axes")
    return call.integers(1, "axes") if call.has(1) else None


def reshaped(call: Call, value: Value, shape: Sequence[int]) -> Value:
    """Return ``value`` in another shape, or itself if it has it."""
    if value.shape == tuple(shape):
        return value
    found: Value = call.net.reshape(value, shape=tuple(shape))
    return found


def _reshape(call: Call) -> Result:
    x, shape = call.any_tensor(0), list(call.integers(1, "a shape"))
    if not call.attribute("allowzero", 0):
        if any(size == 0 and axis >= len(x.shape) for axis, size in enumerate(shape)):
            raise Unsupported(f"to the shape {tuple(shape)}")
        shape = [x.shape[axis] if size == 0 else size for axis, size in enumerate(shape)]
    if 0 in shape:
        raise Unsupported("to nothing")
    if -1 in shape:
        rest = -int(np.prod(shape))
        shape[shape.index(-1)] = x.type.elements // rest
    return reshaped(call, x, shape)


def _squeeze(call: Call) -> Result:
    x, axes = call.any_tensor(0), axes_of(call, 13)
    rank = len(x.shape)
    gone = positive(axes, rank) if axes is not None else [i for i in range(rank) if x.shape[i] == 1]
    return reshaped(call, x, [size for axis, size in enumerate(x.shape) if axis not in gone])


def _unsqueeze(call: Call) -> Result:
    x, axes = call.any_tensor(0), axes_of(call, 13)
    rank = len(x.shape) + len(axes or ())
    added, sizes = positive(axes or (), rank), iter(x.shape)
    return reshaped(call, x, [1 if axis in added else next(sizes) for axis in range(rank)])


def _flatten(call: Call) -> Result:
    x = call.any_tensor(0)
    axis = call.attribute("axis", 1)
    axis += len(x.shape) if axis < 0 else 0
    if axis == 1 and len(x.shape) > 2:
        return call.net.flatten(x)
    return reshaped(call, x, (int(np.prod(x.shape[:axis])), int(np.prod(x.shape[axis:]))))


def _transpose(call: Call) -> Result:
    x = call.any_tensor(0)
    perm = call.axes("perm") or tuple(reversed(range(len(x.shape))))
    return x if perm == tuple(range(len(perm))) else call.net.transpose(x, perm=positive(perm, len(x.shape)))


def _concat(call: Call) -> Result:
    axis = call.attribute("axis")
    filled = [n for n in range(len(call.operands)) if not call.shape(n) or call.shape(n)[axis]]
    tensors = [call.any_tensor(position) for position in filled]
    return tensors[0] if len(tensors) == 1 else call.net.concat(*tensors, axis=axis)


def cut(call: Call, x: Value, axis: int, start: int, end: int) -> Value:
    """Return the elements from ``start`` to ``end`` of an axis."""
    if (start, end) == (0, x.shape[axis]):
        return x
    found: Value = call.net.slice(x, axes=(axis,), starts=(start,), ends=(end,))
    return found


def _split(call: Call) -> Result:
    x = call.any_tensor(0)
    (axis,) = positive((call.attribute("axis", 0),), len(x.shape))
    total, count = x.shape[axis], len(call.node.outputs)
    sizes = call.axes("split") if call.opset < 13 else call.integers(1, "sizes") if call.has(1) else None
    if sizes is None:
        part = -(-total // count)
        sizes = tuple(min(part, total - part * index) for index in range(count))
    if min(sizes) < 0:
        raise Unsupported(f"into parts of {sizes}")
    if len(sizes) == 1:
        return (x,)
    if len(set(sizes)) == 1:
        parts: tuple[Value, ...] = call.net.split(x, axis=axis, num_outputs=len(sizes))
        return parts
    starts = np.cumsum([0, *sizes])
    return tuple(
        cut(call, x, axis, int(a), int(b)) if a < b else _nothing(x, axis, call.node.outputs[place])
        for place, (a, b) in enumerate(zip(starts, starts[1:]))
    )


def _nothing(x: Value, axis: int, name: str) -> Known:
    """Return what is left of ``x`` where nothing is taken of an axis; only joining it with others means anything."""
    shape = tuple(0 if n == axis else size for n, size in enumerate(x.shape))
    return Known(name, np.zeros(shape, x.type.dtype))


def _slice(call: Call) -> Result:
    x = call.any_tensor(0)
    rank = len(x.shape)
    if call.opset < 10:
        starts, ends = call.axes("starts") or (), call.axes("ends") or ()
        axes, steps = call.axes("axes"), None
    else:
        starts, ends = call.integers(1, "starts"), call.integers(2, "ends")
        axes = call.integers(3, "axes") if call.has(3) else None
        steps = call.integers(4, "steps") if call.has(4) else None
    places = positive(axes if axes is not None else range(len(starts)), rank)
    steps = steps or (1,) * len(starts)
    if min(steps, default=1) < 1:
        return _backwards(call, x, zip(places, starts, ends, steps))
    bounds = [slice(a, b, s).indices(x.shape[axis]) for axis, a, b, s in zip(places, starts, ends, steps)]
    for axis, (first, last, _) in zip(places, bounds):
        if first >= last:
            return _nothing(x, axis, call.node.outputs[0])
    if all((a, b, s) == (0, x.shape[axis], 1) for axis, (a, b, s) in zip(places, bounds)):
        return x
    begins, stops, strides = zip(*bounds)
    stepped = strides if any(s != 1 for s in strides) else ()
    return call.net.slice(x, axes=places, starts=begins, ends=stops, steps=stepped)


def _backwards(call: Call, x: Value, parts: Iterable[tuple[int, int, int, int]]) -> Value:
    """Return the elements that slices of some axes take, of which some step backwards."""
    for axis, start, end, step in parts:
        size = x.shape[axis]
        # NumPy counts a negative end from the back, and ONNX ends before the first where it is lower still.
        taken = np.arange(size)[slice(start, None if step < 0 and end < -size else end, step)]
        if not taken.size:
            raise Unsupported("that leaves nothing")
        x = call.net.gather(x, call.table(taken, f"taken{axis}"), axis=axis)
    return x


def _expand(call: Call) -> Result:
    x, wanted = call.any_tensor(0), call.integers(1, "a shape")
    if min(wanted, default=1) < 1:
        raise Unsupported(f"to the shape {wanted}")
    shape = np.broadcast_shapes(x.shape, wanted)
    return x if x.shape == shape else call.net.expand(x, shape=shape)


def _repeated(call: Call, x: Value, axis: int, count: int) -> Value:
    """Return ``x`` several times along an axis; one of size 1 is broadcast, of others a new axis before it."""
    if count == 1:
        return x
    shape = x.shape
    wide = (*shape[:axis], count * shape[axis], *shape[axis + 1 :])
    if shape[axis] == 1:
        found: Value = call.net.expand(x, shape=wide)
        return found
    before, after = int(np.prod(shape[:axis])), int(np.prod(shape[axis:]))
    apart = call.net.reshape(x, shape=(before, 1, after))
    return reshaped(call, call.net.expand(apart, shape=(before, count, after)), wide)


def _tile(call: Call) -> Result:
    repeats = call.integers(1, "repeats")
    if min(repeats, default=1) < 1:
        raise Unsupported(f"with the repeats {repeats}")
    x = call.any_tensor(0)
    for axis, count in enumerate(repeats):
        x = _repeated(call, x, axis, count)
    return x


def _depth_to_space(call: Call) -> Result:
    x, block = call.tensor(0), call.attribute("blocksize")
    count, channels, height, width = x.shape
    deep = channels // block**2
    if call.attribute("mode", "DCR") == "DCR":
        apart, perm = (count, block, block, deep, height, width), (0, 3, 4, 1, 5, 2)
    else:
        apart, perm = (count, deep, block, block, height, width), (0, 1, 4, 2, 5, 3)
    moved = call.net.transpose(call.net.reshape(x, shape=apart), perm=perm)
    return call.net.reshape(moved, shape=(count, deep, height * block, width * block))


def _space_to_depth(call: Call) -> Result:
    x, block = call.tensor(0), call.attribute("blocksize")
    count, channels, height, width = x.shape
    apart = (count, channels, height // block, block, width // block, block)
    perm = (0, 3, 5, 1, 2, 4) if call.attribute("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    moved = call.net.transpose(call.net.reshape(x, shape=apart), perm=perm)
    shape = (count, channels * block**2, height // block, width // block)
    return call.net.reshape(moved, shape=shape)


def _shape(call: Call) -> Result:
    shape = call.shape(0)
    return call.keep(np.array(shape[call.attribute("start", 0) : call.attribute("end")], np.int64))


def _size(call: Call) -> Result:
    return call.keep(np.int64(np.prod(call.shape(0))))


HANDLERS: Mapping[str, Handler] = {
    "Concat": _concat,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
"""How each ONNX operator is written in ours."""
