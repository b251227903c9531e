"""Recurrent layers: one run through time for each direction, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.attributes import PlainRecurrent, Recurrent
from benchmarker.plugins.numpy.base import ArrayOperators, Call, Gradients, InputGradients
from benchmarker.plugins.numpy.elementwise import sigmoid

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def _in_time(values: Array, direction: int) -> Array:
    """Return ``values (T, ...)`` in the order in which a direction sees them; its own inverse."""
    return values if direction == 0 else values[::-1]


def _projected(x: Array, w: Array, bias: Array, gates: int) -> Array:
    """Return the input's part of the gates at every step, ``(T, N, gates, H)``."""
    steps, batch, size = x.shape
    return (x.reshape(-1, size) @ w.T + bias).reshape(steps, batch, gates, -1)


def _lstm_states(x: Array, w: Array, r: Array, b: Array) -> tuple[Array, Array, Array]:
    """Run an LSTM in one direction and keep what its backward pass needs.

    Returns
    -------
    gates : array ``(T, N, 4, H)``
        Activated gates i, o, f, c.
    cells, hidden : array ``(T + 1, N, H)``
        States, the zero initial one first.
    """
    (steps, batch, _), h = x.shape, r.shape[-1]
    gates = _projected(x, w, b[: 4 * h] + b[4 * h :], 4)
    cells = np.zeros((steps + 1, batch, h), x.dtype, like=x)
    hidden = np.zeros_like(cells)
    for t in range(steps):
        gate = gates[t]
        gate += (hidden[t] @ r.T).reshape(batch, 4, h)
        gate[:, :3] = sigmoid(gate[:, :3])
        gate[:, 3] = np.tanh(gate[:, 3])
        i, o, f, c = (gate[:, k] for k in range(4))
        cells[t + 1] = f * cells[t] + i * c
        hidden[t + 1] = o * np.tanh(cells[t + 1])
    return gates, cells, hidden


def _gru_states(x: Array, w: Array, r: Array, b: Array) -> tuple[Array, Array, Array]:
    """Run a GRU in one direction and keep what its backward pass needs.

    Returns
    -------
    gates : array ``(T, N, 3, H)``
        Activated gates z, r, h.
    recurrent : array ``(T, N, H)``
        The state's part of h before the reset gate.
    hidden : array ``(T + 1, N, H)``
        States, the zero initial one first.
    """
    (steps, batch, _), h = x.shape, r.shape[-1]
    # The bias of the recurrent part of h is inside the reset gate, and so is not added here.
    bias = b[: 3 * h] + np.concatenate([b[3 * h : 5 * h], np.zeros_like(b[:h])])
    gates = _projected(x, w, bias, 3)
    recurrent = np.empty((steps, batch, h), x.dtype, like=x)
    hidden = np.zeros((steps + 1, batch, h), x.dtype, like=x)
    for t in range(steps):
        gate, product = gates[t], (hidden[t] @ r.T).reshape(batch, 3, h)
        gate[:, :2] = sigmoid(gate[:, :2] + product[:, :2])
        recurrent[t] = product[:, 2] + b[5 * h :]
        gate[:, 2] = np.tanh(gate[:, 2] + gate[:, 1] * recurrent[t])
        update = gate[:, 0]
        hidden[t + 1] = (1.0 - update) * gate[:, 2] + update * hidden[t]
    return gates, recurrent, hidden


def _rnn_states(x: Array, w: Array, r: Array, b: Array, activation: str) -> Array:
    """Run plain cells in one direction and return their states ``(T + 1, N, H)``, the zero one first."""
    (steps, batch, _), h = x.shape, r.shape[-1]
    gates = _projected(x, w, b[:h] + b[h:], 1)[:, :, 0]
    hidden = np.zeros((steps + 1, batch, h), x.dtype, like=x)
    for t in range(steps):
        before = gates[t] + hidden[t] @ r.T
        hidden[t + 1] = np.maximum(before, 0) if activation == "relu" else np.tanh(before)
    return hidden


class RecurrentOperators(ArrayOperators):
    """Recurrent layers on arrays."""

    def rnn(self, x: Array, w: Array, r: Array, b: Array, *, layer: PlainRecurrent) -> tuple[Array, Array]:
        runs = [_rnn_states(_in_time(x, d), w[d], r[d], b[d], layer.activation) for d in range(len(w))]
        y = np.stack([_in_time(hidden[1:], d) for d, hidden in enumerate(runs)], axis=1)
        return y, np.stack([hidden[-1] for hidden in runs])

    def lstm(self, x: Array, w: Array, r: Array, b: Array, *, layer: Recurrent) -> tuple[Array, Array, Array]:
        runs = [_lstm_states(_in_time(x, d), w[d], r[d], b[d])[1:] for d in range(len(w))]
        y = np.stack([_in_time(hidden[1:], d) for d, (_, hidden) in enumerate(runs)], axis=1)
        return y, np.stack([hidden[-1] for _, hidden in runs]), np.stack([cells[-1] for cells, _ in runs])

    def gru(self, x: Array, w: Array, r: Array, b: Array, *, layer: Recurrent) -> tuple[Array, Array]:
        runs = [_gru_states(_in_time(x, d), w[d], r[d], b[d])[2] for d in range(len(w))]
        y = np.stack([_in_time(hidden[1:], d) for d, hidden in enumerate(runs)], axis=1)
        return y, np.stack([hidden[-1] for hidden in runs])


def _products_gradient(
    call: Call, direction: int, d_input: Array, d_recurrent: Array, hidden: Array
) -> tuple[Array, Array, Array, Array]:
    """Return the gradients of one direction's ``x``, ``w``, ``r`` and ``b`` from those of its gates.

    ``d_input`` and ``d_recurrent`` are ``(T, N, gates, H)``, before the activation, of what the input
    and the state contribute; ``hidden`` is the state before each step.
    """
    x, w, r, _ = call.inputs
    flat_input = d_input.reshape(-1, w.shape[1])
    flat_recurrent = flat_input if d_recurrent is d_input else d_recurrent.reshape(-1, w.shape[1])
    seen = _in_time(x, direction).reshape(-1, x.shape[2])
    return (
        _in_time((flat_input @ w[direction]).reshape(x.shape), direction),
        flat_input.T @ seen,
        flat_recurrent.T @ hidden.reshape(-1, r.shape[2]),
        np.concatenate([flat_input.sum(axis=0), flat_recurrent.sum(axis=0)]),
    )


def _rnn_direction(call: Call, direction: int) -> tuple[Array, Array, Array, Array]:
    x, w, r, b = call.inputs
    dy = _in_time(call.gradients[0][:, direction], direction)
    dh = call.gradients[1][direction]
    activation = call.attributes["layer"].activation
    hidden = _rnn_states(_in_time(x, direction), w[direction], r[direction], b[direction], activation)
    d_gates = np.empty((*hidden[1:].shape[:2], 1, hidden.shape[2]), x.dtype, like=x)
    for t in reversed(range(len(x))):
        state = hidden[t + 1]
        slope = (state > 0) if activation == "relu" else 1.0 - np.square(state)
        d_gates[t, :, 0] = (dh + dy[t]) * slope
        dh = d_gates[t, :, 0] @ r[direction]
    return _products_gradient(call, direction, d_gates, d_gates, hidden[:-1])


def _lstm_direction(call: Call, direction: int) -> tuple[Array, Array, Array, Array]:
    x, w, r, b = call.inputs
    dy = _in_time(call.gradients[0][:, direction], direction)
    dh, dc = call.gradients[1][direction], call.gradients[2][direction]
    gates, cells, hidden = _lstm_states(_in_time(x, direction), w[direction], r[direction], b[direction])
    d_gates = np.empty_like(gates)
    for t in reversed(range(len(x))):
        i, o, f, c = (gates[t][:, k] for k in range(4))
        squashed = np.tanh(cells[t + 1])
        dh = dh + dy[t]
        dc = dc + dh * o * (1.0 - np.square(squashed))
        d_gates[t, :, 0] = dc * c * i * (1.0 - i)
        d_gates[t, :, 1] = dh * squashed * o * (1.0 - o)
        d_gates[t, :, 2] = dc * cells[t] * f * (1.0 - f)
        d_gates[t, :, 3] = dc * i * (1.0 - np.square(c))
        dh = d_gates[t].reshape(len(dh), -1) @ r[direction]
        dc = dc * f
    return _products_gradient(call, direction, d_gates, d_gates, hidden[:-1])


def _gru_direction(call: Call, direction: int) -> tuple[Array, Array, Array, Array]:
    x, w, r, b = call.inputs
    dy = _in_time(call.gradients[0][:, direction], direction)
    dh = call.gradients[1][direction]
    gates, recurrent, hidden = _gru_states(_in_time(x, direction), w[direction], r[direction], b[direction])
    d_input = np.empty_like(gates)
    d_recurrent = np.empty_like(gates)
    for t in reversed(range(len(x))):
        update, reset, candidate = (gates[t][:, k] for k in range(3))
        dh = dh + dy[t]
        d_candidate = dh * (1.0 - update) * (1.0 - np.square(candidate))
        d_input[t, :, 0] = dh * (hidden[t] - candidate) * update * (1.0 - update)
        d_input[t, :, 1] = d_candidate * recurrent[t] * reset * (1.0 - reset)
        d_input[t, :, 2] = d_candidate
        d_recurrent[t, :, :2] = d_input[t, :, :2]
        d_recurrent[t, :, 2] = d_candidate * reset
        dh = dh * update + d_recurrent[t].reshape(len(dh), -1) @ r[direction]
    return _products_gradient(call, direction, d_input, d_recurrent, hidden[:-1])


def _both(directions: list[tuple[Array, Array, Array, Array]]) -> InputGradients:
    """Join the gradients of the directions: both read ``x``, each has weights of its own."""
    dx, *weights = zip(*directions)
    return (dx[0] if len(dx) == 1 else dx[0] + dx[1], *(np.stack(parts) for parts in weights))


def rnn_gradient(call: Call) -> InputGradients:
    """Back through time; the states are computed again instead of being kept."""
    return _both([_rnn_direction(call, d) for d in range(len(call.inputs[1]))])


def lstm_gradient(call: Call) -> InputGradients:
    """Back through time; the gates are computed again instead of being kept."""
    return _both([_lstm_direction(call, d) for d in range(len(call.inputs[1]))])


def gru_gradient(call: Call) -> InputGradients:
    """Back through time; the gates are computed again instead of being kept."""
    return _both([_gru_direction(call, d) for d in range(len(call.inputs[1]))])


GRADIENTS: Gradients = {"rnn": rnn_gradient, "lstm": lstm_gradient, "gru": gru_gradient}
