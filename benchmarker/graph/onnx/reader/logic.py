"""Comparisons, logic, and the choice between two tensors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.elementwise import MIN_FLOAT32
from benchmarker.graph.onnx.reader.values import Known, Unsupported
from benchmarker.graph.recorder import Value

_MASKED = -1e30
"""A score of this or less has no share in a softmax, and adding one of ordinary size to it changes nothing."""


def _compared(operator: str, turned: bool, call: Call) -> Result:
    a = call.any_tensor(0)
    b = call.typed(1, a.type.dtype)
    if a.type.dtype == "bool" and operator != "equal":
        raise Unsupported("over truth values")
    if a.type.dtype == "bool":
        return call.net.logical_not(call.net.logical_xor(a, b))
    found: Value = getattr(call.net, operator)(*((b, a) if turned else (a, b)))
    return found


def _logical(operator: str, call: Call) -> Result:
    found: Value = getattr(call.net, operator)(call.typed(0, "bool"), call.typed(1, "bool"))
    return found


def _not(call: Call) -> Result:
    return call.net.logical_not(call.typed(0, "bool"))


def _is_nan(call: Call) -> Result:
    return call.net.is_nan(call.tensor(0))


def _is_inf(call: Call) -> Result:
    x, net = call.tensor(0), call.net
    infinite = net.is_inf(x)
    signs = (call.attribute("detect_negative", 1), call.attribute("detect_positive", 1))
    if all(signs):
        return infinite
    if not any(signs):
        raise Unsupported("that finds neither sign")
    nothing = call.table(np.zeros((), np.float32), "zero")
    return net.logical_and(infinite, net.less(x, nothing) if signs[0] else net.less(nothing, x))


def _where(call: Call) -> Result:
    """Return the choice; scores with a known mask have it added where the other value is far below all scores."""
    condition = call.operand(0)
    masked = _masked_scores(call, condition) if isinstance(condition, Known) else None
    if masked is not None:
        return masked
    a = call.any_tensor(1)
    return call.net.where(call.typed(0, "bool"), a, call.typed(2, a.type.dtype))


def _masked_scores(call: Call, condition: Known) -> Value | None:
    alone = condition.array.size == 1 and condition.array.ndim <= len(call.shape(1))
    if alone and call.shape(1) == call.shape(2):
        return call.any_tensor(1 if condition.array.reshape(-1)[0] else 2)
    chosen = condition.array.astype(bool)
    for scores, masked, away in ((1, 2, ~chosen), (2, 1, chosen)):
        low = call.scalar(masked)
        if low is not None and low <= _MASKED and call.is_real(scores):
            value = np.float32(max(low, MIN_FLOAT32) if np.isfinite(low) else low)
            table = np.where(away, value, np.float32(0))
            found: Value = call.net.add(call.tensor(scores), call.table(table, "mask"))
            return found
    return None


HANDLERS: Mapping[str, Handler] = {
    "And": partial(_logical, "logical_and"),
    "Equal": partial(_compared, "equal", False),
    "Greater": partial(_compared, "less", True),
    "GreaterOrEqual": partial(_compared, "less_or_equal", True),
    "IsInf": _is_inf,
    "IsNaN": _is_nan,
    "Less": partial(_compared, "less", False),
    "LessOrEqual": partial(_compared, "less_or_equal", False),
    "Not": _not,
    "Or": partial(_logical, "logical_or"),
    "Where": _where,
    "Xor": partial(_logical, "logical_xor"),
}
"""How each ONNX operator is written in ours."""
