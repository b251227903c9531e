"""Chainer's weight layouts: those of the graph, but for recurrent layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.types import Node
from benchmarker.plugins.common.layouts import Layout, LayoutTable

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


def _same(rows: Array) -> Array:
    return rows


def _by_direction(
    name: str, parts: int, encode: Callable[[Array], Array], decode: Callable[[Array], Array]
) -> Layout:
    """Return the layout of ``(D, rows, ...)`` as ``parts`` arrays of rows for each direction."""

    def split(array: Array) -> tuple[Array, ...]:
        return tuple(encode(part) for rows in array for part in np.split(rows, parts))

    def join(arrays: Sequence[Array]) -> Array:
        rows = [decode(part) for part in arrays]
        return np.stack([np.concatenate(rows[at : at + parts]) for at in range(0, len(rows), parts)])

    return Layout(name, split, join)


_LSTM_WEIGHT = _by_direction("interleaved gates", 1, _interleave, _separate)
_LSTM_BIAS = _by_direction("two biases with interleaved gates", 2, _interleave, _separate)
_PLAIN_WEIGHT = _by_direction("one array per direction", 1, _same, _same)
_PLAIN_BIAS = _by_direction("two biases per direction", 2, _same, _same)


def _always(layout: Layout) -> Callable[[Node], Layout]:
    return lambda node: layout


LAYOUTS: LayoutTable = {
    ("rnn", 1): _always(_PLAIN_WEIGHT),
    ("rnn", 2): _always(_PLAIN_WEIGHT),
    ("rnn", 3): _always(_PLAIN_BIAS),
    ("lstm", 1): _always(_LSTM_WEIGHT),
    ("lstm", 2): _always(_LSTM_WEIGHT),
    ("lstm", 3): _always(_LSTM_BIAS),
    ("gru", 1): _always(_PLAIN_WEIGHT),
    ("gru", 2): _always(_PLAIN_WEIGHT),
    ("gru", 3): _always(_PLAIN_BIAS),
}
