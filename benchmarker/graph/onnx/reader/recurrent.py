"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from benchmarker.graph.onnx.reader.call import Call, Handler, Result
from benchmarker.graph.onnx.reader.cells import USUAL, unrolled_layer
from benchmarker.graph.onnx.reader.shaping import reshaped
from benchmarker.graph.onnx.reader.values import Known
from benchmarker.graph.recorder import Value


def _recurrent(operator: str, call: Call) -> Result:
    """Return a layer: the vocabulary's own from zero states over whole sequences, any other unrolled."""
    x, hidden = call.tensor(0), call.attribute("hidden_size") or call.shape(2)[-1]
    flipped = bool(call.attribute("layout", 0))
    if flipped:
        x = call.net.transpose(x, perm=(1, 0, 2))
    native = _is_native(call, call.node.operator, x.shape)
    y, *last = _layer(operator, call, x, hidden) if native else unrolled_layer(call, x, hidden)
    if not flipped:
        return (y, *last)
    return (_batch_first(call, y, (2, 0, 1, 3)), *(_batch_first(call, v, (1, 0, 2)) for v in last))


def _layer(operator: str, call: Call, x: Value, hidden: int) -> tuple[Value, ...]:
    """Return the vocabulary's layer; one that only goes back in time goes forward over what is turned around."""
    direction = call.attribute("direction", "forward")
    directions = 2 if direction == "bidirectional" else 1
    w, r = call.tensor(1), call.tensor(2)
    gates = w.shape[1] // hidden
    b = call.tensor(3) if call.has(3) else call.table(np.zeros((directions, 2 * gates * hidden)), "zeros")
    extra = (
        {"activation": (call.attribute("activations") or ["Tanh"])[0].lower()} if operator == "rnn" else {}
    )
    back = direction == "reverse"
    turned = call.table(np.arange(x.shape[0])[::-1], "turned") if back else None
    x = x if turned is None else call.net.gather(x, turned, axis=0)
    way = "forward" if back else direction
    y, *last = getattr(call.net, operator)(x, w, r, b, hidden_size=hidden, direction=way, **extra)
    return (y if turned is None else call.net.gather(y, turned, axis=0), *last)


def _is_native(call: Call, kind: str, shape: tuple[int, ...]) -> bool:
    """Whether a layer is the usual one: from zero states, over whole sequences, without peepholes."""
    named = tuple(call.attribute("activations") or ())
    usual = {USUAL[kind], USUAL[kind] * 2, ()} | ({("Relu",), ("Relu", "Relu")} if kind == "RNN" else set())
    if named not in usual or call.has(7) or call.attribute("clip") is not None:
        return False
    if call.attribute("input_forget", 0) or (kind == "GRU" and not call.attribute("linear_before_reset", 0)):
        return False
    lengths = call.operand(4) if call.has(4) else None
    if isinstance(lengths, Value) or (lengths is not None and set(lengths.array.tolist()) != {shape[0]}):
        return False
    states = [call.operand(position) for position in (5, 6) if call.has(position)]
    return all(isinstance(state, Known) and not state.array.any() for state in states)


def _batch_first(call: Call, value: Value, perm: tuple[int, ...]) -> Value:
    if 1 in (value.shape[0], value.shape[-3]) and len(perm) == 3:
        return reshaped(call, value, tuple(value.shape[axis] for axis in perm))
    found: Value = call.net.transpose(value, perm=perm)
    return found


HANDLERS: Mapping[str, Handler] = {
    "GRU": partial(_recurrent, "gru"),
    "LSTM": partial(_recurrent, "lstm"),
    "RNN": partial(_recurrent, "rnn"),
}
"""How each ONNX operator is written in ours."""
