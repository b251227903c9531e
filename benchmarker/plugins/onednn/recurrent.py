"""Recurrent layers of oneDNN, in one direction."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.errors import UnsupportedError
from benchmarker.graph.attributes import PlainRecurrent, Recurrent
from benchmarker.plugins.onednn.library import (
    BIAS,
    DST,
    DST_1,
    DST_2,
    ELTWISE_RELU,
    ELTWISE_TANH,
    FORWARD_INFERENCE,
    LEFT_TO_RIGHT,
    SRC,
    WEIGHTS,
    WEIGHTS_1,
    Handle,
    Primitive,
)
from benchmarker.plugins.onednn.operators import OnednnOperators
from benchmarker.plugins.onednn.values import Value, View
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_LSTM_GATES = (0, 2, 3, 1)
"""Where oneDNN's gates i, f, c, o are in the graph's i, o, f, c."""


@dataclass(frozen=True)
class _Layer:
    """Weights as oneDNN takes them, ``(1, 1, I, gates, H)`` and ``(1, 1, gates, H)``, and the states that it gives."""

    w: Array
    r: Array
    bias: Array
    states: int


def _weights(w: Array, gates: Sequence[int]) -> Array:
    """Return ``w (1, gates * H, I)`` as ``(1, 1, I, gates, H)``, the gates in this order."""
    found = w.reshape(1, len(gates), -1, w.shape[-1])[:, list(gates)]
    return np.ascontiguousarray(found.transpose(0, 3, 1, 2)[None])


class RecurrentOperators(OnednnOperators):
    """Recurrent layers with zero initial states; gates are in oneDNN's order by the time a step runs."""

    def rnn(self, x: Value, w: Value, r: Value, b: Value, *, layer: PlainRecurrent) -> Any:
        weights = self._constants(layer, w, r, b)
        both = weights[2].reshape(1, 1, 2, 1, -1).sum(axis=2)
        made = _Layer(_weights(weights[0], (0,)), _weights(weights[1], (0,)), both, 1)
        activation = ELTWISE_RELU if layer.activation == "relu" else ELTWISE_TANH
        return self._layer("vanilla_rnn_forward", x, made, (activation,), alpha_and_beta=True)

    def gru(self, x: Value, w: Value, r: Value, b: Value, *, layer: Recurrent) -> Any:
        weights = self._constants(layer, w, r, b)
        inside = weights[2].reshape(2, 3, -1)
        # The recurrent bias of the last gate is inside the reset gate, and so a bias of its own.
        bias = np.stack([*(inside[0, :2] + inside[1, :2]), inside[0, 2], inside[1, 2]])[None, None]
        made = _Layer(_weights(weights[0], (0, 1, 2)), _weights(weights[1], (0, 1, 2)), bias, 1)
        return self._layer("lbr_gru_forward", x, made)

    def lstm(self, x: Value, w: Value, r: Value, b: Value, *, layer: Recurrent) -> Any:
        weights = self._constants(layer, w, r, b)
        both = weights[2].reshape(2, 4, -1).sum(axis=0)[list(_LSTM_GATES)][None, None]
        made = _Layer(_weights(weights[0], _LSTM_GATES), _weights(weights[1], _LSTM_GATES), both, 2)
        return self._layer("lstm_forward", x, made)

    def _constants(self, layer: Recurrent, *weights: Value) -> list[Array]:
        if layer.is_bidirectional or any(value.constant is None for value in weights):
            raise UnsupportedError(
                "oneDNN's recurrent layers run forward here, with weights that are parameters; got direction "
                f"'{layer.direction}'" + ("" if layer.is_bidirectional else " and weights that are computed")
            )
        return [value.constant for value in weights if value.constant is not None]

    def _layer(
        self,
        function: str,
        x: Value,
        made: _Layer,
        first: Sequence[int] = (),
        *,
        alpha_and_beta: bool = False,
    ) -> tuple[Value, ...]:
        (steps, batch, _), hidden = x.shape, made.w.shape[-1]
        sequence, output = View(x.shape), View((steps, batch, hidden))
        state = View((1, 1, batch, hidden))
        states = [self._plan.exactly(state)] * made.states
        primitive = self._plan.library.primitive(
            function,
            FORWARD_INFERENCE,
            *first,
            LEFT_TO_RIGHT,
            self._plan.offered(x, sequence),
            *[None] * made.states,
            self._plan.library.described(made.w.shape),
            self._plan.library.described(made.r.shape),
            *([None, None] if made.states == 2 else []),
            self._plan.exactly(View(made.bias.shape)),
            self._plan.offered(Value(self._plan.library, output.shape), output),
            *states,
            0,
            *((ctypes.c_float(0.0), ctypes.c_float(0.0)) if alpha_and_beta else ()),
        )
        arguments = {SRC: self._plan.taken(x, sequence, self._plan.library.wanted(primitive, SRC))}
        for index, array in ((WEIGHTS, made.w), (WEIGHTS_1, made.r), (BIAS, made.bias)):
            arguments[index] = self._sent(primitive, index, array)
        return self._outputs(primitive, arguments, output, state, made.states)

    def _sent(self, primitive: Primitive, index: int, array: Array) -> Handle:
        value = Value(self._plan.library, array.shape)
        value.place(View(array.shape), self._plan.library.wanted(primitive, index))
        return value.sent(array)

    def _outputs(
        self, primitive: Primitive, given: Mapping[int, Handle], output: View, state: View, states: int
    ) -> tuple[Value, ...]:
        steps, batch, hidden = output.shape
        results = {DST: self._plan.result((steps, 1, batch, hidden), output, primitive)}
        for index in (DST_1, DST_2)[:states]:
            results[index] = self._plan.result((1, batch, hidden), state, primitive, index)
        written = {index: value.memory for index, value in results.items() if value.memory is not None}
        self._plan.add(primitive, {**given, **written})
        return tuple(results.values())
