"""Recurrent layers between tensors whose first axis is the mini-batch."""

from __future__ import annotations

from benchmarker.errors import UsageError
from benchmarker.graph.network import Network
from benchmarker.graph.recorder import Value

CELLS = ("lstm", "gru")


def sequence(
    net: Network, name: str, x: Value, units: int, *, cell: str, direction: str = "forward"
) -> Value:
    """Return the states ``(T, D, N, units)`` of one recurrent layer over ``x (T, N, I)``.

    Raises
    ------
    UsageError
        On a cell other than :data:`CELLS`.
    """
    if cell == "lstm":
        return net.lstm_layer(name, x, units, direction=direction)[0]
    if cell == "gru":
        return net.gru_layer(name, x, units, direction=direction)[0]
    raise UsageError(f"the recurrent cell must be one of {', '.join(CELLS)}, got '{cell}'")


def last_state(net: Network, name: str, x: Value, units: int) -> Value:
    """Return the last state ``(N, units)`` of a forward LSTM over ``x (N, T, I)``."""
    _, last, _ = net.lstm_layer(name, net.transpose(x, perm=(1, 0, 2)), units)
    result: Value = net.reshape(last, shape=(net.batch_size, units))
    return result


def joined_directions(net: Network, y: Value) -> Value:
    """``(T, D, N, units)`` to ``(T, N, D * units)``."""
    steps, directions, batch, units = y.shape
    result: Value = net.reshape(net.transpose(y, perm=(0, 2, 1, 3)), shape=(steps, batch, directions * units))
    return result


def summed_directions(net: Network, y: Value) -> Value:
    """``(T, D, N, units)`` to ``(T, N, units)``."""
    result: Value = net.reduce_sum(y, axes=(1,))
    return result
