"""Reductions over axes, and the choice of the largest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.plugins.numpy.base import (
    ArrayOperators,
    Call,
    Gradients,
    InputGradients,
    array_of,
    inverse,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def _over(rank: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes that are reduced, from the front; all of them if none are named."""
    return tuple(sorted({axis % rank for axis in axes})) or tuple(range(rank))


def _kept_sizes(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return ``shape`` with size 1 where it is reduced."""
    over = _over(len(shape), axes)
    return tuple(1 if axis in over else size for axis, size in enumerate(shape))


class ReductionOperators(ArrayOperators):
    """Reductions of arrays."""

    def reduce_mean(self, x: Array, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Array:
        return np.asarray(x.mean(axis=_over(x.ndim, axes), keepdims=keepdims), x.dtype, like=array_of(x))

    def reduce_sum(self, x: Array, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Array:
        return np.asarray(x.sum(axis=_over(x.ndim, axes), keepdims=keepdims), x.dtype, like=array_of(x))

    def reduce_max(self, x: Array, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Array:
        return np.asarray(x.max(axis=_over(x.ndim, axes), keepdims=keepdims), x.dtype, like=array_of(x))

    def top_k(self, x: Array, *, k: int) -> Array:
        return np.take_along_axis(x, _descending(x)[..., :k], axis=-1)

    def top_k_indices(self, x: Array, *, k: int) -> Array:
        return _descending(x)[..., :k]

    def arg_max(self, x: Array, *, axis: int = 0, keepdims: bool = False) -> Array:
        place = x.argmax(axis=axis)
        return np.expand_dims(place, axis) if keepdims else place

    def cum_sum(self, x: Array, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Array:
        return _cumulated(x, axis, exclusive, reverse)


def _cumulated(x: Array, axis: int, exclusive: bool, reverse: bool) -> Array:
    turned = np.flip(x, axis) if reverse else x
    total = turned.cumsum(axis=axis, dtype=x.dtype)
    total = total - turned if exclusive else total
    return np.flip(total, axis) if reverse else total


def cum_sum_gradient(call: Call) -> InputGradients:
    """The sums the other way round."""
    known = call.attributes
    return (_cumulated(call.gradients[0], known["axis"], known["exclusive"], not known["reverse"]),)


def _descending(x: Array) -> Array:
    """Return the order of the last axis from the largest, the first of equals first."""
    return np.argsort(-x, axis=-1, kind="stable")


def reduce_sum_gradient(call: Call) -> InputGradients:
    """The same to every element."""
    (x,), (dy,) = call.inputs, call.gradients
    return (np.broadcast_to(dy.reshape(_kept_sizes(x.shape, call.attributes["axes"])), x.shape),)


def reduce_mean_gradient(call: Call) -> InputGradients:
    """Every element gets an equal share."""
    (x,), (dy,) = call.inputs, call.gradients
    kept = _kept_sizes(x.shape, call.attributes["axes"])
    share = dy.reshape(kept) / (x.size // math.prod(kept))
    return (np.broadcast_to(share, x.shape),)


def reduce_max_gradient(call: Call) -> InputGradients:
    """All to the first largest element."""
    (x,), (y,), (dy,) = call.inputs, call.outputs, call.gradients
    over = _over(x.ndim, call.attributes["axes"])
    order = (*(axis for axis in range(x.ndim) if axis not in over), *over)
    moved = x.transpose(order)
    rows = moved.reshape(y.size, -1)
    chosen = (rows >= y.reshape(-1, 1) - call.band).argmax(axis=1)
    dx = np.zeros_like(rows)
    dx[np.arange(y.size, like=rows), chosen] = dy.reshape(-1)
    return (dx.reshape(moved.shape).transpose(inverse(order)),)


def top_k_gradient(call: Call) -> InputGradients:
    """Back to where each came from."""
    (x,), (dy,), k = call.inputs, call.gradients, call.attributes["k"]
    order = _descending(x)
    if call.switched:
        order = _neighbours_switched(x, order, k, call.band)
    dx = np.zeros_like(x)
    np.put_along_axis(dx, order[..., :k], dy, axis=-1)
    return (dx,)


def _neighbours_switched(x: Array, order: Array, k: int, band: float) -> Array:
    """Return ``order`` with each of the first ``k`` that is within ``band`` of the next exchanged with it."""
    falling = np.take_along_axis(x, order, axis=-1)
    switched = order.copy()
    free = np.ones_like(x, bool, order="C", shape=x.shape[:-1])
    for place in range(min(k, x.shape[-1] - 1)):
        near = free & (falling[..., place] - falling[..., place + 1] < band)
        switched[..., place] = np.where(near, order[..., place + 1], switched[..., place])
        switched[..., place + 1] = np.where(near, order[..., place], switched[..., place + 1])
        free = ~near
    return switched


GRADIENTS: Gradients = {
    "reduce_mean": reduce_mean_gradient,
    "reduce_sum": reduce_sum_gradient,
    "reduce_max": reduce_max_gradient,
    "top_k": top_k_gradient,
    "cum_sum": cum_sum_gradient,
}
