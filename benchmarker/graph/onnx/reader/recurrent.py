"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.shaping import reshaped
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.recorder import Value

_ACTIVATIONS = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh")}


def _recurrent(operator: str, call: Call) -> Result:
    """Return a layer from zero initial states over whole sequences."""
    kind = call.node.operator
    direction = call.attribute("direction", "forward")
    if direction == "reverse":
        raise Unsupported("with direction reverse")
    directions = 2 if direction == "bidirectional" else 1
    extra = _activations(call, kind, directions)
    _check_rest(call, kind)
    x, hidden = call.tensor(0), call.attribute("hidden_size") or call.shape(2)[-1]
    flipped = bool(call.attribute("layout", 0))
    if flipped:
        x = call.net.transpose(x, perm=(1, 0, 2))
    w, r = call.tensor(1), call.tensor(2)
    gates = w.shape[1] // hidden
    _check_states(call, x.shape)
    b = call.tensor(3) if call.has(3) else call.table(np.zeros((directions, 2 * gates * hidden)), "zeros")
    layer = getattr(call.net, operator)
    y, *last = layer(x, w, r, b, hidden_size=hidden, direction=direction, **extra)
    if not flipped:
        return (y, *last)
    return (_batch_first(call, y, (2, 0, 1, 3)), *(_batch_first(call, v, (1, 0, 2)) for v in last))


def _batch_first(call: Call, value: Value, perm: tuple[int, ...]) -> Value:
    if 1 in (value.shape[0], value.shape[-3]) and len(perm) == 3:
        return reshaped(call, value, tuple(value.shape[axis] for axis in perm))
    found: Value = call.net.transpose(value, perm=perm)
    return found


def _activations(call: Call, kind: str, directions: int) -> dict[str, Any]:
    """Return what the activations ask of the operator; refuse those that are not the usual ones."""
    named = call.attribute("activations")
    if kind != "RNN":
        if named is not None and tuple(named) != _ACTIVATIONS[kind] * directions:
            raise Unsupported(f"with the activations {', '.join(named)}")
        return {}
    names = set(named or ("Tanh",))
    if len(names) != 1 or not names <= {"Tanh", "Relu"}:
        raise Unsupported(f"with the activations {', '.join(sorted(names))}")
    return {"activation": names.pop().lower()}


def _check_rest(call: Call, kind: str) -> None:
    if call.attribute("clip") is not None:
        raise Unsupported("with a clip")
    call.only("input_forget", 0)
    if kind == "GRU" and not call.attribute("linear_before_reset", 0):
        raise Unsupported("with linear_before_reset 0")
    if call.has(7):
        raise Unsupported("with peepholes")


def _check_states(call: Call, shape: tuple[int, ...]) -> None:
    """Refuse sequences that end early and initial states that are not zero."""
    if call.has(4) and set(call.integers(4, "lengths of sequences")) != {shape[0]}:
        raise Unsupported("with sequences of different lengths")
    for position in (5, 6):
        if call.has(position) and call.known(position, "initial states").any():
            raise Unsupported("with initial states that are not zero")


HANDLERS: Mapping[str, Handler] = {
    "GRU": partial(_recurrent, "gru"),
    "LSTM": partial(_recurrent, "lstm"),
    "RNN": partial(_recurrent, "rnn"),
}
"""How each ONNX operator is written in ours."""
