"""Recurrent layers: one product for the inputs of all steps, then a step after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Union

from benchmarker.graph.attributes import PlainRecurrent, Recurrent
from benchmarker.plugins.tensorflow.layout_operators import Arranging
from benchmarker.plugins.tensorflow.tensors import Tensor

WRITTEN_OUT_STEPS = 64
"""Sequences up to here are unrolled step by step, longer ones loop.

Written out, forward and backward, a layer of 64 units was 1.8 times as fast, one of 256 units 1.1 times,
one of 650 as fast; but each step takes 15 ms to trace, and the graph grows with it."""
WRITTEN_OUT_BYTES = 64 << 20
"""What the gradients of the recurrent weight may take, which are one per step until they are summed."""

Weights = Union[Tensor, tuple[Tensor, ...]]
States = tuple[Any, ...]
Step = Callable[[Any, States], States]


class RecurrentOperators(Arranging):
    """LSTM, GRU and plain recurrent cells.

    TensorFlow's fused ``BlockLSTMV2`` has a wrong gradient. One product for the inputs of all steps was
    faster than one in each step, above all backward, where the gradient of its weight is one product too.
    """

    def lstm(
        self, x: Tensor, w: Weights, r: Weights, b: Tensor, *, layer: Recurrent
    ) -> tuple[Tensor, Tensor, Tensor]:
        tf = self.tf
        start = (tf.zeros((x.shape[1], layer.hidden_size), self.compute),) * 2
        given = self.plain(x)
        sequences, states = [], []
        for backward, (w_, r_, b_) in enumerate(self._directions(w, r, b)):
            inputs = self._projected(given, w_, tf.add(*tf.split(b_, 2)))

            def step(z: Any, state: States, r: Any = r_) -> States:
                h, c = state
                return self._lstm_cell(z + tf.matmul(h, r), c)

            y, state = self._run(inputs, r_, step, start, backward=bool(backward))
            sequences.append(y)
            states.append(state)
        last_h, last_c = (self._stacked(each) for each in zip(*states))
        return self._sequence(sequences), last_h, last_c

    def _lstm_cell(self, gates: Any, c: Any) -> States:
        """Return hidden and cell state; gates stand in ONNX's order i, o, f, c."""
        tf = self.tf
        i, o, f, g = tf.split(gates, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(c), c

    def gru(self, x: Tensor, w: Weights, r: Weights, b: Tensor, *, layer: Recurrent) -> tuple[Tensor, Tensor]:
        tf = self.tf
        start = (tf.zeros((x.shape[1], layer.hidden_size), self.compute),)
        given = self.plain(x)
        sequences, states = [], []
        for backward, (w_, r_, b_) in enumerate(self._directions(w, r, b)):
            of_inputs, of_states = tf.split(b_, 2)

            def step(z: Any, state: States, r: Any = r_, b: Any = of_states) -> States:
                return self._gru_cell(z, self.biased(tf.matmul(state[0], r), b), state[0])

            inputs = self._projected(given, w_, of_inputs)
            y, (h,) = self._run(inputs, r_, step, start, backward=bool(backward))
            sequences.append(y)
            states.append(h)
        return self._sequence(sequences), self._stacked(states)

    def _gru_cell(self, inputs: Any, states: Any, h: Any) -> States:
        """Return the state; gates stand in ONNX's order z, r, h."""
        tf = self.tf
        (z, r, n), (z_, r_, n_) = tf.split(inputs, 3, axis=1), tf.split(states, 3, axis=1)
        z = tf.sigmoid(z + z_)
        n = tf.tanh(n + tf.sigmoid(r + r_) * n_)
        return (n + z * (h - n),)

    def rnn(
        self, x: Tensor, w: Weights, r: Weights, b: Tensor, *, layer: PlainRecurrent
    ) -> tuple[Tensor, Tensor]:
        tf = self.tf
        activate = {"tanh": tf.tanh, "relu": tf.nn.relu}[layer.activation]
        start = (tf.zeros((x.shape[1], layer.hidden_size), self.compute),)
        given = self.plain(x)
        sequences, states = [], []
        for backward, (w_, r_, b_) in enumerate(self._directions(w, r, b)):
            inputs = self._projected(given, w_, tf.add(*tf.split(b_, 2)))

            def step(z: Any, state: States, r: Any = r_) -> States:
                return (activate(z + tf.matmul(state[0], r)),)

            y, (h,) = self._run(inputs, r_, step, start, backward=bool(backward))
            sequences.append(y)
            states.append(h)
        return self._sequence(sequences), self._stacked(states)

    # --- sequences ---------------------------------------------------------------------------

    def _directions(self, w: Weights, r: Weights, b: Tensor) -> list[tuple[Any, Any, Any]]:
        """Return the input weight ``(I, G)``, the recurrent ``(H, G)`` and the bias of each direction."""
        return list(zip(self._matrices_of(w), self._matrices_of(r), self.tf.unstack(self.plain(b))))

    def _matrices_of(self, w: Weights) -> list[Any]:
        if isinstance(w, tuple):
            return [self.arrange(matrix, (1, 0)) for matrix in w]
        stacked: list[Any] = self.tf.unstack(self.arrange(w, (0, 2, 1)))
        return stacked

    def _projected(self, x: Any, w: Any, b: Any) -> Any:
        """Return ``x @ w + b`` for all steps, ``(T, N, G)``."""
        steps, batch, size = x.shape
        rows = self.tf.reshape(x, (steps * batch, size))
        return self.tf.reshape(self.biased(self.tf.matmul(rows, w), b), (steps, batch, w.shape[1]))

    def _run(self, inputs: Any, r: Any, step: Step, start: States, *, backward: bool) -> tuple[Any, States]:
        """Return the first state of each step, ``(T, N, H)``, and the states after the last one."""
        steps = int(inputs.shape[0])
        kept = steps * int(r.shape[0]) * int(r.shape[1]) * int(r.dtype.size)
        short = steps <= WRITTEN_OUT_STEPS and kept <= WRITTEN_OUT_BYTES
        return (self._unrolled if short else self._looped)(inputs, step, start, backward)

    def _unrolled(self, inputs: Any, step: Step, state: States, backward: bool) -> tuple[Any, States]:
        outputs = []
        steps = self.tf.unstack(inputs)
        for z in reversed(steps) if backward else steps:
            state = step(z, state)
            outputs.append(state[0])
        return self.tf.stack(outputs[::-1] if backward else outputs), state

    def _looped(self, inputs: Any, step: Step, start: States, backward: bool) -> tuple[Any, States]:
        tf = self.tf
        steps = int(inputs.shape[0])
        given = tf.TensorArray(inputs.dtype, steps).unstack(inputs)
        outputs = tf.TensorArray(inputs.dtype, steps, element_shape=start[0].shape)

        def body(t: Any, state: States, outputs: Any) -> tuple[Any, States, Any]:
            place = steps - 1 - t if backward else t
            state = step(given.read(place), state)
            return t + 1, state, outputs.write(place, state[0])

        _, state, outputs = tf.while_loop(
            lambda t, *_: t < steps, body, (tf.constant(0), start, outputs), maximum_iterations=steps
        )
        return outputs.stack(), state

    def _sequence(self, directions: Sequence[Any]) -> Tensor:
        """Return ``(T, D, N, H)``, in which the directions of a step stand beside each other."""
        if len(directions) == 1:
            return Tensor(self.tf.expand_dims(directions[0], 1), (0, 1, 2, 3))
        return Tensor(self.tf.stack(directions, axis=2), (0, 2, 1, 3))

    def _stacked(self, states: Sequence[Any]) -> Tensor:
        return Tensor(self.tf.stack(states), (0, 1, 2))
