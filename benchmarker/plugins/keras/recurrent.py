"""Recurrent layers: one product for the inputs of all steps, then ``keras.ops.scan`` over the steps.

Keras' recurrent layers add the two biases of a gate into one, which an optimizer would move by half, and hold
the gates in another order; so the cells are written here, in the graph's order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarker.graph.attributes import PlainRecurrent, Recurrent
from benchmarker.plugins.keras.binding_site import Site
from benchmarker.plugins.keras.layouts import Native

States = tuple[Any, ...]
Cell = Callable[[Any, States, Any, Any], States]
"""Projected input, states, recurrent weight ``(G, H)`` and recurrent bias to the next states."""


def lstm(site: Site, *, layer: Recurrent) -> Native:
    """Gates stand in the order i, o, f, c."""
    from keras import ops

    def cell(z: Any, states: States, r: Any, b: Any) -> States:
        h, c = states
        i, o, f, g = ops.split(ops.add(z, ops.matmul(h, r)), 4, axis=-1)
        c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
        return ops.sigmoid(o) * ops.tanh(c), c

    return _layer(site, cell, layer, states=2, merged=True)


def gru(site: Site, *, layer: Recurrent) -> Native:
    """Gates stand in the order z, r, h; the reset gate multiplies after the product."""
    from keras import ops

    def cell(inputs: Any, states: States, r: Any, b: Any) -> States:
        (h,) = states
        recurrent = ops.add(ops.matmul(h, r), b)
        (z, s, n), (z_, s_, n_) = ops.split(inputs, 3, axis=-1), ops.split(recurrent, 3, axis=-1)
        z = ops.sigmoid(z + z_)
        n = ops.tanh(n + ops.sigmoid(s + s_) * n_)
        return (n + z * (h - n),)

    return _layer(site, cell, layer, states=1, merged=False)


def rnn(site: Site, *, layer: PlainRecurrent) -> Native:
    """One product and one activation a step."""
    from keras import ops

    function = ops.tanh if layer.activation == "tanh" else ops.relu

    def cell(z: Any, states: States, r: Any, b: Any) -> States:
        return (function(ops.add(z, ops.matmul(states[0], r))),)

    return _layer(site, cell, layer, states=1, merged=True)


def _layer(site: Site, cell: Cell, layer: Recurrent, *, states: int, merged: bool) -> Native:
    """Return the layer of a cell; ``merged`` if both biases are added to the projected input."""
    from keras import ops

    batch = site.shape(0)[1]

    def one(x: Any, w: Any, r: Any, b: Any, backward: bool) -> tuple[Any, States]:
        of_input, of_state = ops.split(b, 2)
        projected = ops.add(ops.matmul(x, ops.transpose(w)), of_input + of_state if merged else of_input)
        turned = ops.transpose(r)

        def step(carry: States, z: Any) -> tuple[States, States]:
            following = cell(z, carry, turned, of_state)
            return following, following

        start = tuple(ops.zeros((batch, layer.hidden_size), site.setting.dtype) for _ in range(states))
        last, history = ops.scan(step, start, ops.flip(projected, 0) if backward else projected)
        return ops.flip(history[0], 0) if backward else history[0], last

    def run(x: Any, w: Any, r: Any, b: Any) -> tuple[Any, ...]:
        weights = zip(*(ops.unstack(ops.convert_to_tensor(each)) for each in (w, r, b)))
        found = [one(x, w_, r_, b_, d == 1) for d, (w_, r_, b_) in enumerate(weights)]
        y = ops.stack([sequence for sequence, _ in found], axis=1)
        return y, *(ops.stack(last) for last in zip(*(last for _, last in found)))

    return run
