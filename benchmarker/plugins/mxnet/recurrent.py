"""Recurrent layers as MXNet symbols."""

from __future__ import annotations

from benchmarker.graph.attributes import PlainRecurrent, Recurrent
from benchmarker.graph.operators import Tensor
from benchmarker.plugins.mxnet.symbol_operators import SymbolOperators

GATES = {"rnn": (0,), "lstm": (0, 2, 3, 1), "gru": (1, 0, 2)}
"""The graph's gate at each place of MXNet's order: i, f, c, o of the graph's i, o, f, c; r, z, h of z, r, h."""


class RecurrentOperators(SymbolOperators):
    """One layer, in one direction or both."""

    def lstm(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: Recurrent
    ) -> tuple[Tensor, Tensor, Tensor]:
        y, y_h, y_c = self._layer("lstm", x, (w, r, b), layer)
        return y, y_h, y_c

    def gru(self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: Recurrent) -> tuple[Tensor, Tensor]:
        y, y_h = self._layer("gru", x, (w, r, b), layer)
        return y, y_h

    def rnn(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: PlainRecurrent
    ) -> tuple[Tensor, Tensor]:
        y, y_h = self._layer("rnn", x, (w, r, b), layer, f"rnn_{layer.activation}")
        return y, y_h

    def _layer(
        self, operator: str, x: Tensor, weights: tuple[Tensor, ...], layer: Recurrent, mode: str = ""
    ) -> tuple[Tensor, ...]:
        steps, batch, _ = self._shape(x)
        # Weights that are one symbol are MXNet's flat vector already (see parameters.py).
        one = weights[0] is weights[1] is weights[2]
        flat = weights[0] if one else self._flat_weights(operator, weights, layer.directions)
        start = self._full((layer.directions, batch, layer.hidden_size), 0.0)
        y, *last = self._mx.RNN(
            x,
            flat,
            *(start, start) if operator == "lstm" else (start,),
            mode=mode or operator,
            state_size=layer.hidden_size,
            num_layers=1,
            bidirectional=layer.is_bidirectional,
            state_outputs=True,
        )
        if not layer.is_bidirectional:
            return (self._mx.expand_dims(y, axis=1), *last)
        sides = self._mx.reshape(y, shape=(steps, batch, 2, layer.hidden_size))
        return (self._transpose(sides, (0, 2, 1, 3)), *last)

    def _flat_weights(self, operator: str, weights: tuple[Tensor, ...], directions: int) -> Tensor:
        order = GATES[operator]
        w, r, b = (self._directions(tensor, directions) for tensor in weights)
        blocks = [block for pair in zip(w, r) for tensor in pair for block in self._gates(tensor, order)]
        for tensor in b:
            halves = self._mx.split(tensor, num_outputs=2, axis=1)
            blocks += [block for half in halves for block in self._gates(half, order)]
        return self._mx.concat(*(self._mx.reshape(block, shape=(-1,)) for block in blocks), dim=0)

    def _directions(self, tensor: Tensor, directions: int) -> list[Tensor]:
        return list(self._mx.split(tensor, num_outputs=2, axis=0)) if directions == 2 else [tensor]

    def _gates(self, tensor: Tensor, order: tuple[int, ...]) -> list[Tensor]:
        if len(order) == 1:
            return [tensor]
        gates = self._mx.split(tensor, num_outputs=len(order), axis=1)
        return [gates[gate] for gate in order]
