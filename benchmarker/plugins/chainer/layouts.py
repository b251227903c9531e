"""Chainer's weight layouts: those of the graph, but for the gates of the LSTM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.layouts import Layout, LayoutTable

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

GATES = (3, 0, 2, 1)
"""The graph's gate (order i, o, f, c) at each place of a unit in ``functions.lstm`` (order a = c, i, f, o)."""


def _interleave(blocks: Array) -> Array:
    """Return rows ordered unit by unit, ``(4H, ...)`` from blocks of one gate each."""
    units = blocks.reshape(4, -1, *blocks.shape[1:])[list(GATES)]
    return np.ascontiguousarray(units.swapaxes(0, 1)).reshape(blocks.shape)


def _separate(rows: Array) -> Array:
    """Return the inverse of :func:`_interleave`."""
    units = rows.reshape(-1, 4, *rows.shape[1:]).swapaxes(0, 1)
    return np.ascontiguousarray(units[np.argsort(GATES)]).reshape(rows.shape)


def _bias_pair(array: Array) -> tuple[Array, ...]:
    return tuple(_interleave(half) for half in np.split(array[0], 2))


def _one_bias(arrays: Sequence[Array]) -> Array:
    return np.concatenate([_separate(array) for array in arrays])[None]


_WEIGHT = Layout(
    "interleaved gates", lambda array: (_interleave(array[0]),), lambda arrays: _separate(arrays[0])[None]
)
_BIAS = Layout("two biases with interleaved gates", _bias_pair, _one_bias)

LAYOUTS: LayoutTable = {
    ("lstm", 1): lambda node: _WEIGHT,
    ("lstm", 2): lambda node: _WEIGHT,
    ("lstm", 3): lambda node: _BIAS,
}
