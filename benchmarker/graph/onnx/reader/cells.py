"""Recurrent layers that no framework has as such, unrolled step by step: any activations and initial states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarker.graph.onnx.reader.call import Call
from benchmarker.graph.onnx.reader.elementwise import cast
from benchmarker.graph.onnx.reader.shaping import cut, reshaped
from benchmarker.graph.onnx.reader.values import Unsupported
from benchmarker.graph.recorder import Value
from benchmarker.quick_dataclass import dataclass

MAX_STEPS = 256
"""Of a layer that is unrolled."""
Function = Callable[[Call, Value], Value]
_FUNCTIONS: Mapping[str, Function] = {
    "Relu": lambda call, x: call.net.relu(x),
    "Sigmoid": lambda call, x: call.net.sigmoid(x),
    "Softplus": lambda call, x: call.net.softplus(x),
    "Tanh": lambda call, x: call.net.tanh(x),
    "Softsign": lambda call, x: call.net.div(x, call.net.affine(call.net.abs(x), beta=1.0)),
    "HardSigmoid": lambda call, x: call.net.clip(call.net.affine(x, alpha=0.2, beta=0.5), min=0.0, max=1.0),
    "LeakyRelu": lambda call, x: call.net.leaky_relu(x, alpha=0.01),
}
USUAL = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@dataclass(frozen=True)
class Direction:
    """One direction of a layer.

    Parameters
    ----------
    kind : str
        ``LSTM``, ``GRU`` or ``RNN``.
    functions : tuple of callable
        Its activations.
    w, r : Value
        Weights ``(I, gates * H)`` and ``(H, gates * H)``.
    bias, recurrent_bias : Value or None
        ``(gates * H,)``.
    peepholes : tuple of Value
        Of the gates i, o and f, ``(H,)``; none where there are none.
    """

    kind: str
    functions: Sequence[Function]
    w: Value
    r: Value
    bias: Value | None
    recurrent_bias: Value | None
    peepholes: Sequence[Value]

    def parts(self, call: Call, x: Value) -> list[Value]:
        """Return the gates' shares of ``(N, gates * H)``."""
        count = GATES[self.kind]
        if count == 1:
            return [x]
        return list(call.net.split(x, axis=1, num_outputs=count))

    def step(self, call: Call, x: Value, state: Sequence[Value]) -> tuple[Value, ...]:
        """Return the next state; ``x`` has gone through the weights already, ``(N, gates * H)``."""
        call.only("clip", None)
        call.only("input_forget", 0)
        if self.kind == "GRU":
            return (self._gru(call, x, state[0]),)
        net = call.net
        total = net.add(x, self._recurrent(call, state[0]))
        if self.kind == "RNN":
            return (self.functions[0](call, total),)
        f, g, h = self.functions
        old = state[1]
        i, o, forget, c = self.parts(call, total)
        if self.peepholes:
            i, forget = (net.add(a, net.mul(p, old)) for a, p in zip((i, forget), self.peepholes[::2]))
        cell = net.add(net.mul(f(call, forget), old), net.mul(f(call, i), g(call, c)))
        o = net.add(o, net.mul(self.peepholes[1], cell)) if self.peepholes else o
        return net.mul(f(call, o), h(call, cell)), cell

    def _recurrent(self, call: Call, h: Value) -> Value:
        found: Value = call.net.matmul(h, self.r)
        return found if self.recurrent_bias is None else call.net.add(found, self.recurrent_bias)

    def _gru(self, call: Call, x: Value, h: Value) -> Value:
        net, (f, g) = call.net, self.functions
        xz, xr, xh = self.parts(call, x)
        hidden = h.shape[1]
        rz, rr, rh = self.parts(call, self._recurrent(call, h))
        z, r = f(call, net.add(xz, rz)), f(call, net.add(xr, rr))
        if call.attribute("linear_before_reset", 0):
            inner = net.mul(r, rh)
        else:
            inner = net.matmul(net.mul(r, h), cut(call, self.r, 1, 2 * hidden, 3 * hidden))
            if self.recurrent_bias is not None:
                inner = net.add(inner, cut(call, self.recurrent_bias, 0, 2 * hidden, 3 * hidden))
        new = g(call, net.add(xh, inner))
        found: Value = net.add(new, net.mul(z, net.sub(h, new)))
        return found


def unrolled_layer(call: Call, x: Value, hidden: int) -> tuple[Value, ...]:
    """Return ``y (T, D, N, H)`` and the last states ``(D, N, H)`` of a layer over ``x (T, N, I)``."""
    net, kind = call.net, call.node.operator
    if x.shape[0] > MAX_STEPS:
        raise Unsupported(
            f"over {x.shape[0]} steps that would be unrolled, of which there may be {MAX_STEPS}"
        )
    way = call.attribute("direction", "forward")
    backwards = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[way]
    lengths = call.any_tensor(4) if call.has(4) else None
    outputs, lasts = [], []
    for place, back in enumerate(backwards):
        ys, last = _unrolled(call, x, _direction(call, place, len(backwards), hidden), place, back, lengths)
        outputs.append(_stacked(call, ys, 0))
        lasts.append(last)
    apart = [reshaped(call, y, (y.shape[0], 1, *y.shape[1:])) for y in outputs]
    y = apart[0] if len(apart) == 1 else net.concat(*apart, axis=1)
    count = 2 if kind == "LSTM" else 1
    return (y, *(_stacked(call, [last[i] for last in lasts], 0) for i in range(count)))


def _stacked(call: Call, rows: Sequence[Value], axis: int) -> Value:
    apart = [reshaped(call, row, (1, *row.shape)) for row in rows]
    found: Value = apart[0] if len(apart) == 1 else call.net.concat(*apart, axis=axis)
    return found


def _direction(call: Call, place: int, count: int, hidden: int) -> Direction:
    net, kind = call.net, call.node.operator
    usual = USUAL[kind]
    names = tuple(call.attribute("activations") or usual * count)[
        place * len(usual) : (place + 1) * len(usual)
    ]
    known = {name.lower(): function for name, function in _FUNCTIONS.items()}
    strange = [name for name in names if name.lower() not in known]
    if strange or call.attribute("activation_alpha") or call.attribute("activation_beta"):
        raise Unsupported(f"with the activations {', '.join(strange or names)}")

    def of(position: int) -> Value:
        x = call.tensor(position)
        return reshaped(call, cut(call, x, 0, place, place + 1), x.shape[1:])

    wide = GATES[kind] * hidden
    bias = of(3) if call.has(3) else None
    holes = of(7) if call.has(7) else None
    return Direction(
        kind,
        [known[name.lower()] for name in names],
        net.transpose(of(1), perm=(1, 0)),
        net.transpose(of(2), perm=(1, 0)),
        None if bias is None else cut(call, bias, 0, 0, wide),
        None if bias is None else cut(call, bias, 0, wide, 2 * wide),
        [] if holes is None else [cut(call, holes, 0, hidden * n, hidden * (n + 1)) for n in range(3)],
    )


def _initial(call: Call, position: int, place: int, shape: tuple[int, ...]) -> Value:
    if not call.has(position):
        return call.table(np.zeros(shape, np.float32), f"initial{position}")
    x: Any = call.tensor(position)
    if call.attribute("layout", 0):
        x = call.net.transpose(x, perm=(1, 0, 2))
    return reshaped(call, cut(call, x, 0, place, place + 1), shape)


def _unrolled(
    call: Call, x: Value, way: Direction, place: int, back: bool, lengths: Value | None
) -> tuple[list[Value], tuple[Value, ...]]:
    """Return the output of each step, in the order of the steps, and the last state."""
    net, steps, samples, hidden = call.net, x.shape[0], x.shape[1], way.r.shape[0]
    inner = net.matmul(x, way.w)
    inner = inner if way.bias is None else net.add(inner, way.bias)
    positions = (5, 6) if way.kind == "LSTM" else (5,)
    state: tuple[Value, ...] = tuple(_initial(call, p, place, (samples, hidden)) for p in positions)
    outputs: list[Value] = []
    for t in reversed(range(steps)) if back else range(steps):
        row = reshaped(call, cut(call, inner, 0, t, t + 1), (samples, inner.shape[2]))
        after = way.step(call, row, state)
        if lengths is not None:
            there = net.less(call.table(np.array(t), f"step{t}"), reshaped(call, lengths, (samples, 1)))
            state = tuple(net.where(there, new, old) for new, old in zip(after, state))
            outputs.append(net.mul(after[0], cast(net, there, "float32")))
        else:
            state = after
            outputs.append(after[0])
    return (outputs[::-1] if back else outputs), state
