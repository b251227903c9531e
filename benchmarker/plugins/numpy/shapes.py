"""Operators that move elements, or look some of them up."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.graph.attributes import Slice
from benchmarker.plugins.numpy.base import (
    ArrayOperators,
    Call,
    Gradients,
    InputGradients,
    inverse,
    unbroadcast,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def add_rows(table: Array, rows: Array, values: Array) -> None:
    """Add ``values[i]`` to row ``rows[i]`` of ``table``, in place; rows may repeat.

    Only the rows that are named cost anything: the table may have millions.
    """
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    table[ordered[starts]] += np.add.reduceat(values[order], starts, axis=0)


class ShapeOperators(ArrayOperators):
    """Shapes of arrays; results may share the operand's memory."""

    def reshape(self, x: Array, *, shape: tuple[int, ...]) -> Array:
        return x.reshape([x.shape[axis] if size == 0 else size for axis, size in enumerate(shape)])

    def transpose(self, x: Array, *, perm: tuple[int, ...]) -> Array:
        return x.transpose(perm)

    def concat(self, *xs: Array, axis: int) -> Array:
        return np.concatenate(xs, axis=axis)

    def split(self, x: Array, *, axis: int, num_outputs: int) -> tuple[Array, ...]:
        return tuple(np.split(x, num_outputs, axis=axis))

    def slice(self, x: Array, *, taken: Slice) -> Array:
        part: Array = x[taken.index(x.ndim)]
        return part

    def pad(self, x: Array, *, pads: tuple[int, ...], value: float = 0.0) -> Array:
        return np.pad(x, list(zip(pads[: x.ndim], pads[x.ndim :])), constant_values=value)

    def expand(self, x: Array, *, shape: tuple[int, ...]) -> Array:
        return np.broadcast_to(x, shape)

    def gather(self, x: Array, indices: Array, *, axis: int = 0) -> Array:
        return x.take(indices, axis=axis)

    def gather_elements(self, x: Array, indices: Array, *, axis: int = -1) -> Array:
        return np.take_along_axis(x, indices, axis=axis)

    def scatter_nd(self, x: Array, indices: Array, updates: Array) -> Array:
        y = x.copy()
        y[_places(indices)] = updates
        return y


def _places(indices: Array) -> tuple[Array, ...]:
    return tuple(np.moveaxis(indices, -1, 0))


def reshape_gradient(call: Call) -> InputGradients:
    """The input's shape again."""
    return (call.gradients[0].reshape(call.inputs[0].shape),)


def transpose_gradient(call: Call) -> InputGradients:
    """The inverse permutation."""
    return (call.gradients[0].transpose(inverse(call.attributes["perm"])),)


def concat_gradient(call: Call) -> InputGradients:
    """To each operand its part."""
    axis = call.attributes["axis"]
    ends = list(itertools.accumulate(x.shape[axis] for x in call.inputs))
    return np.split(call.gradients[0], ends[:-1], axis=axis)


def split_gradient(call: Call) -> InputGradients:
    """The parts joined again."""
    return (np.concatenate(call.gradients, axis=call.attributes["axis"]),)


def slice_gradient(call: Call) -> InputGradients:
    """Nothing to what was not taken."""
    (x,) = call.inputs
    dx = np.zeros_like(x)
    dx[call.attributes["taken"].index(x.ndim)] = call.gradients[0]
    return (dx,)


def pad_gradient(call: Call) -> InputGradients:
    """What is inside."""
    (x,) = call.inputs
    inside = tuple(slice(begin, begin + size) for begin, size in zip(call.attributes["pads"], x.shape))
    return (call.gradients[0][inside],)


def expand_gradient(call: Call) -> InputGradients:
    """The sum over the copies."""
    return (unbroadcast(call.gradients[0], call.inputs[0].shape),)


def gather_gradient(call: Call) -> InputGradients:
    """To each slice the sum over the indices that named it."""
    (x, indices), (dy,) = call.inputs, call.gradients
    axis = call.attributes["axis"] % x.ndim
    dx = np.zeros(x.shape, x.dtype)
    named = tuple(range(axis, axis + indices.ndim))
    values = np.moveaxis(dy, named, tuple(range(indices.ndim)))
    add_rows(
        np.moveaxis(dx, axis, 0),
        indices.reshape(-1),
        values.reshape(indices.size, *values.shape[indices.ndim :]),
    )
    return dx, None


def gather_elements_gradient(call: Call) -> InputGradients:
    """To each element the sum over the indices that named it."""
    (x, indices), (dy,) = call.inputs, call.gradients
    axis = call.attributes["axis"] % x.ndim
    places = list(np.ix_(*(np.arange(size) for size in indices.shape)))
    places[axis] = indices
    flat = np.ravel_multi_index(np.broadcast_arrays(*places), x.shape)
    dx = np.zeros(x.shape, x.dtype)
    add_rows(dx.reshape(-1), flat.reshape(-1), dy.reshape(-1))
    return dx, None


def scatter_nd_gradient(call: Call) -> InputGradients:
    """To the updates what stands at their places, to the rest what stands elsewhere."""
    (_, indices, _), (dy,) = call.inputs, call.gradients
    dx, places = dy.copy(), _places(indices)
    dx[places] = 0
    return dx, None, dy[places]


GRADIENTS: Gradients = {
    "scatter_nd": scatter_nd_gradient,
    "reshape": reshape_gradient,
    "transpose": transpose_gradient,
    "concat": concat_gradient,
    "split": split_gradient,
    "slice": slice_gradient,
    "pad": pad_gradient,
    "expand": expand_gradient,
    "gather": gather_gradient,
    "gather_elements": gather_elements_gradient,
}
