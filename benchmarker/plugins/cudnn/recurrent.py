"""Recurrent layers as calls of cuDNN, with the weights where it wants them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.errors import UnsupportedError
from benchmarker.graph.attributes import PlainRecurrent, Recurrent
from benchmarker.plugins.cudnn.convolution import ConvolutionOperators
from benchmarker.plugins.cudnn.library import Buffer, Handle, ints
from benchmarker.plugins.cudnn.place import MIN_RANK, Call, Place
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_RELU, _TANH, _LSTM, _GRU = range(4)
_STANDARD, _TWO_BIASES, _LINEAR_INPUT, _PADDED = 0, 2, 0, 1
_INFERENCE, _TIME_FIRST = 0, 0


@dataclass(frozen=True)
class _Kind:
    """A kind of cell.

    Parameters
    ----------
    mode : int
        cuDNN's name.
    gates : tuple of int
        Which gate of the graph's order (i, o, f, c of an LSTM; z, r, h of a GRU) is each in cuDNN's.
    """

    mode: int
    gates: tuple[int, ...]


_KINDS = {
    "relu": _Kind(_RELU, (0,)),
    "tanh": _Kind(_TANH, (0,)),
    "lstm": _Kind(_LSTM, (0, 2, 3, 1)),
    "gru": _Kind(_GRU, (1, 0, 2)),
}


class RecurrentOperators(ConvolutionOperators):
    """The same, and recurrent layers with weights that are parameters."""

    def rnn(self, x: Any, w: Any, r: Any, b: Any, *, layer: PlainRecurrent) -> Any:
        return _layer(self._place, _KINDS[layer.activation], layer)

    def lstm(self, x: Any, w: Any, r: Any, b: Any, *, layer: Recurrent) -> Any:
        return _layer(self._place, _KINDS["lstm"], layer)

    def gru(self, x: Any, w: Any, r: Any, b: Any, *, layer: Recurrent) -> Any:
        return _layer(self._place, _KINDS["gru"], layer)


def _layer(place: Place, kind: _Kind, layer: Recurrent) -> Call:
    library = place.library
    (steps, batch, features), hidden = place.shape(0), layer.hidden_size
    directions = layer.directions
    cells = _cells(place, kind, features, hidden, directions)
    inputs, outputs = (_sequence(place, steps, batch, size) for size in (features, directions * hidden))
    state = place.tensor((directions, batch, hidden))
    weights = _weights(place, kind, cells)
    workspace = Buffer(library, _workspace(place, cells, inputs))
    y = place.memory((steps, directions, batch, hidden))
    states = [place.memory((directions, batch, hidden)) for _ in range(2 if kind.mode == _LSTM else 1)]
    last_cells = states[1].address if len(states) > 1 else None
    turn = _turned(place, steps, batch, hidden) if directions > 1 else None
    written = place.memory((steps, batch, directions * hidden)) if turn else y

    def call(x: Buffer, *_: Any) -> tuple[Buffer, ...]:
        library.call(
            "cudnnRNNForward",
            *(library.cudnn, cells.pointer, _INFERENCE, None, inputs.pointer, x.address),
            *(outputs.pointer, written.address, state.pointer, None, states[0].address),
            *(state.pointer, None, last_cells, weights.size, weights.address),
            *(workspace.size, workspace.address, 0, None),
        )
        if turn is not None:
            turn(written, y)
        return y, *states

    return call


def _cells(place: Place, kind: _Kind, features: int, hidden: int, directions: int) -> Handle:
    elements, library = place.elements, place.library
    none = library.descriptor("Dropout", "DropoutDescriptor", library.cudnn, 0.0, None, 0, 0)
    cells = library.descriptor(
        "RNN",
        "RNNDescriptor_v8",
        *(_STANDARD, kind.mode, _TWO_BIASES, directions - 1, _LINEAR_INPUT),
        *(elements.cudnn, elements.sums, elements.math, features, hidden, hidden, 1, none.pointer, _PADDED),
    )
    cells.parts = (none,)
    return cells


def _sequence(place: Place, steps: int, batch: int, features: int) -> Handle:
    """Return the descriptor of sequences of one length, the steps one after the other."""
    filling, lengths = ctypes.c_double(0.0), ints([steps] * batch)
    sizes = place.elements.cudnn, _TIME_FIRST, steps, batch, features
    return place.library.descriptor("RNNData", "RNNDataDescriptor", *sizes, lengths, ctypes.byref(filling))


def _workspace(place: Place, cells: Handle, inputs: Handle) -> int:
    size, library = ctypes.c_size_t(), place.library
    library.call(
        "cudnnGetRNNTempSpaceSizes",
        *(library.cudnn, cells.pointer, _INFERENCE, inputs.pointer, ctypes.byref(size), None),
    )
    return size.value


def _weights(place: Place, kind: _Kind, cells: Handle) -> Buffer:
    """Return the weights and biases of a layer where cuDNN wants them.

    Raises
    ------
    UnsupportedError
        If they are computed in the graph.
    """
    library, size = place.library, ctypes.c_size_t()
    w, r, b = place.constants[1:4]
    if w is None or r is None or b is None:
        raise UnsupportedError("cuDNN's recurrent layers run here with weights that are parameters")
    library.call("cudnnGetRNNWeightSpaceSize", library.cudnn, cells.pointer, ctypes.byref(size))
    space = Buffer(library, size.value)
    library.call("cudaMemset", space.address, 0, space.size)
    for direction in range(len(w)):
        for number, (matrix, bias) in enumerate(_parts(kind, w[direction], r[direction], b[direction])):
            for address, array in zip(_places(place, cells, space, direction, number), (matrix, bias)):
                library.send(place.elements.sent(array), address)
    return space


def _parts(kind: _Kind, w: Array, r: Array, b: Array) -> Iterator[tuple[Array, Array]]:
    """Yield matrix and bias of each gate in cuDNN's order, those of the input first."""
    hidden, gates = r.shape[1], len(kind.gates)
    for first, matrices in ((0, w), (gates, r)):
        for gate in kind.gates:
            bias = (first + gate) * hidden
            yield matrices[gate * hidden : (gate + 1) * hidden], b[bias : bias + hidden]


def _places(place: Place, cells: Handle, space: Buffer, direction: int, number: int) -> Sequence[int | None]:
    """Return the addresses of a matrix and of its bias."""
    library = place.library
    descriptors = library.blank("Tensor"), library.blank("Tensor")
    addresses = ctypes.c_void_p(), ctypes.c_void_p()
    results = [item for d, a in zip(descriptors, addresses) for item in (d.pointer, ctypes.byref(a))]
    given = direction, space.size, space.address, number
    library.call("cudnnGetRNNWeightParams", library.cudnn, cells.pointer, *given, *results)
    return [address.value for address in addresses]


def _turned(place: Place, steps: int, batch: int, hidden: int) -> Any:
    """Return what brings the directions, which cuDNN writes beside each other, before the samples."""
    library, shape = place.library, (steps, 2, batch, hidden)
    assert len(shape) >= MIN_RANK
    row = 2 * hidden
    source = place.tensor(shape, (batch * row, hidden, row, 1))
    target = place.tensor(shape)
    one, zero = place.factor(1.0), place.factor(0.0)

    def turn(written: Buffer, y: Buffer) -> None:
        given = one, source.pointer, written.address, zero, target.pointer, y.address
        library.call("cudnnTransformTensor", library.cudnn, *given)

    return turn
