"""Operators over bits of integers, and the order of sequences that end early."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.shaping import reshaped
from benchmarker.graph.onnx.reader.values import Known, Unsupported
from benchmarker.graph.recorder import Value

_MAX_BITS = 62
"""Places by which an integer of the graph, which has 64 bits and a sign, can be shifted."""


_MOVING = (
    "Concat",
    "Expand",
    "Flatten",
    "Gather",
    "Identity",
    "Reshape",
    "Slice",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
)
_COMPUTING = ("Abs", "Add", "BitShift", "Div", "Max", "Min", "Mod", "Mul", "Neg", "Sub")
_SAME_TYPE = frozenset((*_MOVING, *_COMPUTING, "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor"))
"""Operators whose result has the type of their first input."""
_CAST_TYPES = {
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    12: "uint32",
    13: "uint64",
}


def _kind(call: Call, position: int) -> Any:
    """Return the type that integers have in the model, None where the file does not tell it."""
    found = call.operand(position)
    if isinstance(found, Known):
        return found.array.dtype
    declared = {tensor.name: tensor.dtype for tensor in call.model.inputs}
    makers = {name: node for node in call.model.nodes for name in node.outputs}
    name = call.node.inputs[position]
    while name in makers and makers[name].operator in _SAME_TYPE:
        name = makers[name].inputs[0]
    if name in makers and makers[name].operator == "Cast":
        kind = _CAST_TYPES.get(makers[name].attributes["to"])
    else:
        kind = declared.get(name)
    return np.dtype(kind) if kind else None


def _shift(call: Call) -> Result:
    """Return integers multiplied with, or divided by, powers of two; what leaves their type to the left is lost."""
    net, x, places, kind = call.net, call.typed(0, "int64"), call.typed(1, "int64"), _kind(call, 0)
    left = call.attribute("direction") == "LEFT"
    if kind is None and left:
        raise Unsupported("to the left of computed integers, whose type the file does not state")
    bits, zero = 8 * kind.itemsize if kind else 64, call.table(np.array(0), "zero")
    width, most = call.table(np.array(bits), "width"), call.table(np.array(min(bits, _MAX_BITS)), "most")
    fits = net.logical_and(net.less_or_equal(zero, places), net.less(places, width))
    powers = net.gather(
        call.table(2 ** np.arange(_MAX_BITS + 1), "powers"),
        net.where(fits, net.minimum(places, most), most),
        axis=0,
    )
    if not left:
        # Towards minus infinity, where division goes towards 0.
        return net.integer_div(net.sub(x, net.mod(x, powers)), powers)
    wide = net.where(fits, net.mul(x, powers), zero)
    if bits >= 64:
        return wide
    whole = call.table(np.array(2**bits), "range")
    if kind.kind == "u":
        return net.mod(wide, whole)
    half = call.table(np.array(2 ** (bits - 1)), "half")
    return net.sub(net.mod(net.add(wide, half), whole), half)


def _not(call: Call) -> Result:
    net, x, kind = call.net, call.typed(0, "int64"), _kind(call, 0)
    if kind is None:
        raise Unsupported("of computed integers, whose type the file does not state")
    highest = np.array(-1 if kind.kind == "i" else np.iinfo(kind).max if kind.itemsize < 8 else -1, np.int64)
    return net.sub(call.table(highest, "ones"), x)


def _bits_of(call: Call) -> tuple[list[int], int | None]:
    """Return the places of the bits that both operands can have, and that of the sign if they can be negative."""
    known = [found.array for found in map(call.operand, (0, 1)) if isinstance(found, Known)]
    masks = [
        int(np.bitwise_or.reduce(array.reshape(-1)))
        for array in known
        if array.size and array.min() >= 0 and array.max() < 2**63
    ]
    if masks:
        return [place for place in range(_MAX_BITS + 1) if all(mask >> place & 1 for mask in masks)], None
    kinds = [kind for kind in (_kind(call, 0), _kind(call, 1)) if kind is not None]
    kind = min(kinds, key=lambda kind: int(kind.itemsize), default=np.dtype(np.int64))
    signed = kind.kind == "i" or kind.itemsize == 8
    bits = 8 * kind.itemsize
    return list(range(min(bits - signed, _MAX_BITS + 1))), bits - 1 if signed else None


def _both(call: Call) -> Value:
    """Return the bits that two integers share."""
    net, a, b = call.net, call.typed(0, "int64"), call.typed(1, "int64")
    two = call.table(np.array(2), "two")
    places, sign = _bits_of(call)
    powers = call.table(2 ** np.array(places or [0], np.int64), "powers")

    def bit(x: Value) -> Value:
        wide = reshaped(call, x, (*x.shape, 1))
        # Towards minus infinity, where division goes towards 0.
        whole = net.integer_div(net.sub(wide, net.mod(wide, powers)), powers)
        found: Value = net.mod(whole, two)
        return found

    shared = net.mul(net.mul(bit(a), bit(b)), powers)
    found: Value = net.reduce_sum(shared, axes=(len(shared.shape) - 1,))
    if not places:
        found = net.sub(found, found)
    if sign is not None:
        zero = call.table(np.array(0), "zero")
        both = net.logical_and(net.less(a, zero), net.less(b, zero))
        found = net.add(found, net.where(both, call.table(np.array(-(2**sign)), "sign"), zero))
    return found


def _bitwise(shares: int, call: Call) -> Result:
    """Return ``And``, or the sum of both operands less so many times what they share: ``Or`` and ``Xor``."""
    net, both = call.net, _both(call)
    if not shares:
        return both
    total = net.add(call.typed(0, "int64"), call.typed(1, "int64"))
    for _ in range(shares):
        total = net.sub(total, both)
    return total


def _reverse_sequence(call: Call) -> Result:
    """Return sequences of which the first so many steps are in the opposite order."""
    net, x = call.net, call.any_tensor(0)
    time, batch = call.attribute("time_axis", 0), call.attribute("batch_axis", 1)
    if {time, batch} != {0, 1}:
        raise Unsupported(f"along axes {time} and {batch}")
    steps, rank = x.shape[time], len(x.shape)
    lengths = call.operand(1)
    if isinstance(lengths, Known) and (lengths.array == steps).all():
        return net.gather(x, call.table(np.arange(steps)[::-1], "backwards"), axis=time)
    shape = tuple(x.shape[batch] if axis == batch else 1 for axis in (0, 1))
    counts = reshaped(call, call.typed(1, "int64"), shape)
    order = np.arange(steps).reshape(tuple(steps if axis == time else 1 for axis in (0, 1)))
    place = call.table(order, "steps")
    turned = net.sub(net.sub(counts, call.table(np.array(1), "one")), place)
    chosen = net.where(net.less(place, counts), turned, place)
    wide = reshaped(call, chosen, (*x.shape[:2], *(1,) * (rank - 2)))
    places: Value = wide if wide.shape == x.shape else net.expand(wide, shape=x.shape)
    return net.gather_elements(x, places, axis=time)


HANDLERS: Mapping[str, Handler] = {
    "BitShift": _shift,
    "BitwiseAnd": partial(_bitwise, 0),
    "BitwiseNot": _not,
    "BitwiseOr": partial(_bitwise, 1),
    "BitwiseXor": partial(_bitwise, 2),
    "ReverseSequence": _reverse_sequence,
}
"""How each ONNX operator is written in ours."""
