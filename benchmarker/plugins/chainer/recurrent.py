"""Recurrent layers in Chainer.

``functions.n_step_lstm``, ``n_step_gru`` and ``n_step_rnn`` join their weights anew at each step of time and
take two to four times as long on a CPU as what is here: one product for the inputs of all steps, then one
recurrent product and the cell a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarker.graph.attributes import PlainRecurrent, Recurrent
from benchmarker.plugins.chainer.binding_site import Native, Site


def _directions(natives: Any) -> tuple[Any, ...]:
    """Return one weight per direction; a single one comes without its tuple."""
    return natives if isinstance(natives, tuple) else (natives,)


def _joined(site: Site, histories: Sequence[Sequence[Any]], hidden_size: int) -> tuple[Any, Any]:
    """Return ``y (T, D, N, H)``, if something needs it, and ``y_h (D, N, H)`` of states in order of time.

    The second direction's last state is that of the first step.
    """
    from chainer import functions

    steps, batch, _ = site.shape(0)
    last = functions.stack([history[-1] if d == 0 else history[0] for d, history in enumerate(histories)])
    if not site.needs(0):
        return None, last
    states = [history[t] for t in range(steps) for history in histories]
    y = functions.reshape(functions.stack(states), (steps, len(histories), batch, hidden_size))
    return y, last


def rnn(site: Site, *, layer: PlainRecurrent) -> Native:
    """A product and the activation for each step of time; weights one, biases two a direction."""
    from chainer import functions

    steps, batch, features = site.shape(0)
    activate = {"tanh": functions.tanh, "relu": functions.relu}[layer.activation]

    def scan(flat: Any, w: Any, r: Any, bias: Any, backward: bool) -> list[Any]:
        inputs = functions.split_axis(functions.linear(flat, w, bias), steps, axis=0)
        h = None
        history = []
        for z in reversed(inputs) if backward else inputs:
            h = activate(z if h is None else z + functions.linear(h, r))
            history.append(h)
        return history[::-1] if backward else history

    def run(x: Any, w: Any, r: Any, biases: Any) -> tuple[Any, Any]:
        flat = functions.reshape(x, (steps * batch, features))
        histories = [
            scan(flat, wd, rd, biases[2 * d] + biases[2 * d + 1], d == 1)
            for d, (wd, rd) in enumerate(zip(_directions(w), _directions(r)))
        ]
        return _joined(site, histories, layer.hidden_size)

    return run


def lstm(site: Site, *, layer: Recurrent) -> Native:
    """``functions.lstm`` for each step of time.

    Weights come with the gates interleaved by unit, one per direction; biases as two vectors per direction.
    """
    from chainer import functions

    steps, batch, features = site.shape(0)
    hidden_size = layer.hidden_size

    def scan(flat: Any, w: Any, r: Any, bias: Any, backward: bool) -> tuple[list[Any], Any]:
        projected = functions.linear(flat, w, bias)
        c = projected.xp.zeros((batch, hidden_size), dtype=projected.dtype)
        h = None
        history = []
        inputs = functions.split_axis(projected, steps, axis=0)
        for z in reversed(inputs) if backward else inputs:
            c, h = functions.lstm(c, z if h is None else z + functions.linear(h, r))
            history.append(h)
        return history[::-1] if backward else history, c

    def run(x: Any, w: Any, r: Any, biases: Any) -> tuple[Any, Any, Any]:
        flat = functions.reshape(x, (steps * batch, features))
        found = [
            scan(flat, wd, rd, biases[2 * d] + biases[2 * d + 1], d == 1)
            for d, (wd, rd) in enumerate(zip(_directions(w), _directions(r)))
        ]
        y, y_h = _joined(site, [history for history, _ in found], layer.hidden_size)
        return y, y_h, functions.stack([c for _, c in found]) if site.needs(2) else None

    return run


def gru(site: Site, *, layer: Recurrent) -> Native:
    """A cell of Chainer's functions for each step of time; weights one, biases two a direction."""
    from chainer import functions

    steps, batch, features = site.shape(0)
    hidden_size = layer.hidden_size
    gates = [2 * hidden_size]

    def scan(flat: Any, w: Any, r: Any, b: Any, c: Any, backward: bool) -> list[Any]:
        projected = functions.linear(flat, w, b)
        inputs = list(
            zip(*(functions.split_axis(x, steps, 0) for x in functions.split_axis(projected, gates, 1)))
        )
        h = projected.xp.zeros((batch, hidden_size), dtype=projected.dtype)
        recurrent = functions.broadcast_to(c, (batch, 3 * hidden_size))
        history: list[Any] = []
        for gate, candidate in reversed(inputs) if backward else inputs:
            if history:
                recurrent = functions.linear(h, r, c)
            gate_h, candidate_h = functions.split_axis(recurrent, gates, 1)
            keep, reset = functions.split_axis(functions.sigmoid(gate + gate_h), 2, 1)
            h = functions.linear_interpolate(keep, h, functions.tanh(candidate + reset * candidate_h))
            history.append(h)
        return history[::-1] if backward else history

    def run(x: Any, w: Any, r: Any, biases: Any) -> tuple[Any, Any]:
        flat = functions.reshape(x, (steps * batch, features))
        histories = [
            scan(flat, wd, rd, biases[2 * d], biases[2 * d + 1], d == 1)
            for d, (wd, rd) in enumerate(zip(_directions(w), _directions(r)))
        ]
        return _joined(site, histories, layer.hidden_size)

    return run
