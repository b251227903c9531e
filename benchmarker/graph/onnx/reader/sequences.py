"""Sequences of tensors, of which it is known how many there are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.shaping import cut, positive, reshaped
from benchmarker.graph.onnx.reader.values import Known, Listed, Unsupported
from benchmarker.graph.recorder import Value


def _items(call: Call) -> tuple[Known | Value | Listed, ...]:
    found = call.operands[0] if call.operands else None
    if not isinstance(found, Listed):
        raise Unsupported("without a sequence")
    return found.items  # type: ignore[return-value]


def _place(call: Call, position: int, count: int, *, after: bool = False) -> int:
    if not call.has(position):
        return count
    place = int(call.number(position, "a place"))
    if not -count <= place < count + after:
        raise Unsupported(f"at the place {place} of {count}")
    return place + count if place < 0 else place


def _empty(call: Call) -> Result:
    return Listed(())


def _construct(call: Call) -> Result:
    return Listed(tuple(call.operand(place) for place in range(len(call.operands))))


def _insert(call: Call) -> Result:
    items = _items(call)
    place = _place(call, 2, len(items), after=True)
    return Listed((*items[:place], call.operand(1), *items[place:]))


def _erase(call: Call) -> Result:
    items = _items(call)
    place = _place(call, 1, len(items)) if call.has(1) else len(items) - 1
    return Listed((*items[:place], *items[place + 1 :]))


def _at(call: Call) -> Result:
    items = _items(call)
    return items[_place(call, 1, len(items))]


def _length(call: Call) -> Result:
    return call.keep(np.int64(len(_items(call))))


def _split(call: Call) -> Result:
    """Return the parts of an axis; of size 1 each where none is given."""
    x = call.any_tensor(0)
    (axis,) = positive((call.attribute("axis", 0),), len(x.shape))
    size = x.shape[axis]
    given = call.known(1, "sizes") if call.has(1) else np.array(1)
    step = max(int(given.reshape(-1)[0]), 1)
    sizes = given.tolist() if given.ndim else [min(step, size - start) for start in range(0, size, step)]
    ends = np.cumsum([0, *sizes])
    parts = [cut(call, x, axis, int(a), int(b)) for a, b in zip(ends, ends[1:])]
    if not call.has(1) and not call.attribute("keepdims", 1):
        shape = (*x.shape[:axis], *x.shape[axis + 1 :])
        parts = [reshaped(call, part, shape) for part in parts]
    return Listed(tuple(parts))


def _joined(call: Call) -> Result:
    """Return all tensors along an axis, or a new one."""
    items, net = _items(call), call.net
    parts = [
        x if isinstance(x, Value) else call.declared.parameter(x) for x in items if not isinstance(x, Listed)
    ]
    if not parts:
        raise Unsupported("of nothing")
    axis, added = call.attribute("axis"), bool(call.attribute("new_axis", 0))
    (place,) = positive((axis,), len(parts[0].shape) + added)
    if added:
        parts = [reshaped(call, x, (*x.shape[:place], 1, *x.shape[place:])) for x in parts]
    return parts[0] if len(parts) == 1 else net.concat(*parts, axis=place)


def _optional(call: Call) -> Result:
    return call.operands[0]


def _is_there(call: Call) -> Result:
    return call.keep(np.array(call.has(0)))


HANDLERS: Mapping[str, Handler] = {
    "ConcatFromSequence": _joined,
    "Optional": _optional,
    "OptionalGetElement": _optional,
    "OptionalHasElement": _is_there,
    "SequenceAt": _at,
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceErase": _erase,
    "SequenceInsert": _insert,
    "SequenceLength": _length,
    "SplitToSequence": _split,
}
"""How each ONNX operator is written in ours."""
