"""Recurrent layers in PyTorch, and the layouts of their weights."""

from __future__ import annotations

from benchmarker.graph.attributes import PlainRecurrent, Recurrent
from benchmarker.graph.operators import Tensor
from benchmarker.plugins.common.layouts import recurrent_layouts
from benchmarker.plugins.pytorch.tracing import TracedOperators

LAYOUTS = recurrent_layouts({"rnn": (0,), "lstm": (0, 2, 3, 1), "gru": (1, 0, 2)})
"""The graph's gates i, o, f, c and z, r, h in PyTorch's order i, f, c, o and r, z, h."""


def _natives(value: Tensor, per_direction: int) -> list[tuple[Tensor, ...]]:
    """Return the native tensors of a weight, those of each direction together."""
    natives = value if isinstance(value, tuple) else (value,)
    return [natives[i : i + per_direction] for i in range(0, len(natives), per_direction)]


def flat_weights(w: Tensor, r: Tensor, b: Tensor) -> list[Tensor]:
    """Return what PyTorch takes: for each direction both weights, then both biases."""
    parts = zip(_natives(w, 1), _natives(r, 1), _natives(b, 2))
    return [native for direction in parts for natives in direction for native in natives]


class RecurrentOperators(TracedOperators):
    """One layer each. Weights are a native tensor for each direction, biases two."""

    def rnn(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: PlainRecurrent
    ) -> tuple[Tensor, Tensor]:
        """Return ``y`` and ``y_h``."""
        weights = flat_weights(w, r, b)
        zeros = x.new_zeros(layer.directions, x.size(1), layer.hidden_size)
        function = self._torch.rnn_relu if layer.activation == "relu" else self._torch.rnn_tanh
        result = function(x, zeros, weights, True, 1, 0.0, self.training, layer.is_bidirectional, False)
        return self._by_direction(result[0], layer), result[1]

    def lstm(
        self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: Recurrent
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return ``y``, ``y_h`` and ``y_c``."""
        weights = flat_weights(w, r, b)
        zeros = x.new_zeros(layer.directions, x.size(1), layer.hidden_size)
        # Biases yes, one layer, no dropout between layers, time axis first.
        result = self._torch.lstm(
            x, (zeros, zeros), weights, True, 1, 0.0, self.training, layer.is_bidirectional, False
        )
        return self._by_direction(result[0], layer), result[1], result[2]

    def gru(self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, *, layer: Recurrent) -> tuple[Tensor, Tensor]:
        """Return ``y`` and ``y_h``."""
        weights = flat_weights(w, r, b)
        zeros = x.new_zeros(layer.directions, x.size(1), layer.hidden_size)
        result = self._torch.gru(
            x, zeros, weights, True, 1, 0.0, self.training, layer.is_bidirectional, False
        )
        return self._by_direction(result[0], layer), result[1]

    @staticmethod
    def _by_direction(y: Tensor, layer: Recurrent) -> Tensor:
        """Return ``(T, N, D * H)`` as ``(T, D, N, H)``."""
        if not layer.is_bidirectional:
            return y.unsqueeze(1)
        return y.unflatten(2, (2, layer.hidden_size)).transpose(1, 2)
