"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarker.graph.attributes import PlainRecurrent, Recurrent
from benchmarker.plugins.jax.layout_operators import Arranging
from benchmarker.plugins.jax.tensors import Tensor

INFERENCE_UNROLL = 16
"""Steps that are unrolled in each turn of the loop in inference.

Forward it was twice as fast as one step a turn; with a backward pass it was twice as slow."""

States = tuple[Any, ...]
Cell = Callable[[States, Any], States]


class RecurrentOperators(Arranging):
    """Plain recurrent cells, LSTM and GRU, as a scan after one product for the inputs of all steps."""

    def rnn(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: PlainRecurrent
    ) -> tuple[Tensor, Tensor]:
        function = {"tanh": self.jnp.tanh, "relu": self.jax.nn.relu}[layer.activation]

        def direction_cell(r: Any, b: Any) -> tuple[Any, Cell]:
            of_inputs, of_states = self.jnp.split(b, 2)
            return of_inputs + of_states, lambda state, z: (function(z + state[0] @ r.T),)

        y, (h,) = self._layer(x, w, r, b, direction_cell, (layer.hidden_size,))
        return y, h

    def lstm(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: Recurrent
    ) -> tuple[Tensor, Tensor, Tensor]:
        def direction_cell(r: Any, b: Any) -> tuple[Any, Cell]:
            def cell(state: States, z: Any) -> States:
                h, c = state
                i, o, f, g = self.jnp.split(z + h @ r.T, 4, axis=1)
                sigmoid = self.jax.nn.sigmoid
                c = sigmoid(f) * c + sigmoid(i) * self.jnp.tanh(g)
                return sigmoid(o) * self.jnp.tanh(c), c

            of_inputs, of_states = self.jnp.split(b, 2)
            return of_inputs + of_states, cell

        y, (h, c) = self._layer(x, w, r, b, direction_cell, (layer.hidden_size,) * 2)
        return y, h, c

    def gru(self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: Recurrent) -> tuple[Tensor, Tensor]:
        def direction_cell(r: Any, b: Any) -> tuple[Any, Cell]:
            of_inputs, of_states = self.jnp.split(b, 2)

            def cell(state: States, inputs: Any) -> States:
                (h,) = state
                z, r_, n = self.jnp.split(inputs, 3, axis=1)
                z_, r__, n_ = self.jnp.split(h @ r.T + of_states, 3, axis=1)
                z = self.jax.nn.sigmoid(z + z_)
                n = self.jnp.tanh(n + self.jax.nn.sigmoid(r_ + r__) * n_)
                return (n + z * (h - n),)

            return of_inputs, cell

        y, (h,) = self._layer(x, w, r, b, direction_cell, (layer.hidden_size,))
        return y, h

    def _layer(
        self,
        x: Tensor,
        w: Tensor,
        r: Tensor,
        b: Tensor,
        direction_cell: Callable[[Any, Any], tuple[Any, Cell]],
        sizes: tuple[int, ...],
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Run each direction.

        Parameters
        ----------
        x, w, r, b : Tensor
            As the operators take them.
        direction_cell : callable
            Recurrent weight and bias of a direction to what is added to its projected inputs, and its cell.
        sizes : tuple of int
            Sizes of the states, of which the first is what a step gives.
        """
        given = self.plain(x)
        start = tuple(self.jnp.zeros((given.shape[1], size), self.compute) for size in sizes)
        sequences, states = [], []
        for backward, (w_, r_, b_) in enumerate(zip(*(self.plain(p) for p in (w, r, b)))):
            shift, cell = direction_cell(r_, b_)
            last, sequence = self._scan(cell, start, given @ w_.T + shift, bool(backward))
            sequences.append(sequence)
            states.append(last)
        stacked = tuple(Tensor(self.jnp.stack(each)) for each in zip(*states))
        return Tensor(self.jnp.stack(sequences, axis=1)), stacked

    def _scan(self, cell: Cell, start: States, inputs: Any, backward: bool) -> tuple[States, Any]:
        def step(state: States, z: Any) -> tuple[States, Any]:
            state = cell(state, z)
            return state, state[0]

        unroll = 1 if self.training else min(INFERENCE_UNROLL, inputs.shape[0])
        found: tuple[States, Any] = self.lax.scan(step, start, inputs, reverse=backward, unroll=unroll)
        return found
