"""Reductions, and operators that move elements or choose among them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from benchmarker.graph.attributes import Slice
from benchmarker.plugins.common.axis_orders import Order, broadcast_order, graph_order, without
from benchmarker.plugins.tensorflow.layout_operators import Arranging
from benchmarker.plugins.tensorflow.layouts import flattened_columns
from benchmarker.plugins.tensorflow.tensors import Tensor


class Shaping(Arranging):
    """Reductions and shapes, along the axes as they stand."""

    # --- reductions --------------------------------------------------------------------------

    def reduce_mean(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._reduced(self.tf.reduce_mean, x, axes, keepdims)

    def reduce_sum(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._reduced(self.tf.reduce_sum, x, axes, keepdims)

    def reduce_max(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._reduced(self.tf.reduce_max, x, axes, keepdims)

    def _reduced(
        self, function: Callable[..., Any], x: Tensor, axes: tuple[int, ...], keepdims: bool
    ) -> Tensor:
        x = self.settled(x)
        chosen = [axis % x.rank for axis in axes] or list(range(x.rank))
        value = self.value(x)
        if len(chosen) == x.rank:
            value = self.full(value)  # a loss, or part of one
        y = function(value, self.axes(x, chosen), keepdims=keepdims)
        return Tensor(y, x.order if keepdims else without(x.order, chosen))

    def top_k(self, x: Tensor, *, k: int) -> Tensor:
        x = self.innermost(x)
        return Tensor(self.tf.math.top_k(self.value(x), k).values, x.order)

    def top_k_indices(self, x: Tensor, *, k: int) -> Tensor:
        x = self.innermost(x)
        places = self.tf.math.top_k(self.value(x), k, index_type=self.tf.int64).indices
        return Tensor(places, x.order)

    def arg_max(self, x: Tensor, *, axis: int = 0, keepdims: bool = False) -> Tensor:
        value, axis = self.plain(x), axis % x.rank
        place = self.tf.argmax(value, axis)
        place = self.tf.expand_dims(place, axis) if keepdims else place
        return Tensor(place, graph_order(len(place.shape)))

    def cum_sum(self, x: Tensor, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Tensor:
        x = self.settled(x)
        (native,) = self.axes(x, (axis,))
        return Tensor(self.tf.cumsum(self.value(x), native, exclusive, reverse), x.order)

    def scatter_nd(self, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        put = self.tf.tensor_scatter_nd_update
        return Tensor(put(self.plain(x), self.plain(indices), self.plain(updates)), graph_order(x.rank))

    # --- shapes ------------------------------------------------------------------------------

    def reshape(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        sizes = [x.shape[axis] if size == 0 else size for axis, size in enumerate(shape)]
        if -1 in sizes:
            known = [size for size in sizes if size != -1]
            sizes[sizes.index(-1)] = math.prod(x.shape) // math.prod(known)
        x = self.settled(x)
        columns = flattened_columns(x.shape, x.order, tuple(sizes))
        if columns is not None:
            return Tensor(self.tf.reshape(self.value(x), sizes), (0, 1), columns=columns)
        before, native, after = reshaped(x.shape, x.order, tuple(sizes))
        return Tensor(self.tf.reshape(self.arrange(x, before), native), after)

    def flatten(self, x: Tensor) -> Tensor:
        return self.reshape(x, shape=(0, -1))

    def transpose(self, x: Tensor, *, perm: tuple[int, ...]) -> Tensor:
        # Nothing moves: whoever needs another order arranges it.
        x = self.settled(x)
        return Tensor(x.value, tuple(perm.index(axis) for axis in x.order), x.parameter)

    def concat(self, *xs: Tensor, axis: int) -> Tensor:
        tensors = [self.settled(x) for x in xs]
        order = broadcast_order([x.shape for x in tensors], [x.order for x in tensors])
        values = [self.arrange(x, order) for x in tensors]
        return Tensor(self.tf.concat(values, order.index(axis % len(order))), order)

    def split(self, x: Tensor, *, axis: int, num_outputs: int) -> tuple[Tensor, ...]:
        x = self.settled(x)
        (native,) = self.axes(x, (axis,))
        parts = self.tf.split(self.value(x), num_outputs, native)
        return tuple(Tensor(part, x.order) for part in parts)

    def slice(self, x: Tensor, *, taken: Slice) -> Tensor:
        x = self.settled(x)
        index = [slice(None)] * x.rank
        for axis, part in taken.parts:
            index[x.order.index(axis)] = part
        return Tensor(self.value(x)[tuple(index)], x.order)

    def pad(self, x: Tensor, *, pads: tuple[int, ...], value: float = 0.0) -> Tensor:
        x = self.settled(x)
        pairs = [(pads[axis], pads[x.rank + axis]) for axis in x.order]
        return Tensor(self.tf.pad(self.value(x), pairs, constant_values=value), x.order)

    def expand(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        x = self.raised(x, len(shape))
        sizes = [shape[axis] for axis in x.order]
        return Tensor(self.tf.broadcast_to(self.value(x), sizes), x.order)

    # --- choosing ----------------------------------------------------------------------------

    def gather(self, x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
        """Gather from a parameter as it is stored: its gradient then has the rows that were used only."""
        x = self.settled(x)
        axis %= x.rank
        (native,) = self.axes(x, (axis,))
        y = self.tf.gather(x.value, self.plain(indices), axis=native)
        new = indices.rank
        order: list[int] = []
        for old in x.order:
            order += range(axis, axis + new) if old == axis else [old if old < axis else old + new - 1]
        return Tensor(self.value(Tensor(y, x.order, x.parameter)), tuple(order))

    def gather_elements(self, x: Tensor, indices: Tensor, *, axis: int = -1) -> Tensor:
        """Choose along the innermost axis, all others being a batch."""
        x = self.innermost(x, axis)
        y = self.tf.gather(
            self.value(x), self.arrange(indices, x.order), axis=x.rank - 1, batch_dims=x.rank - 1
        )
        return Tensor(y, x.order)


# --- reshaping along the axes as they stand, so that no element moves that need not --------------

Group = tuple[list[int], list[int]]


def groups(source: tuple[int, ...], target: tuple[int, ...]) -> list[Group]:
    """Return the smallest runs of axes of ``source`` and ``target`` with the same number of elements.

    Reshaping happens within each of them alone. Axes of size 1 go with the run before them.
    """
    found: list[Group] = []
    i = j = 0
    while i < len(source) or j < len(target):
        ends = _end(source, i), _end(target, j)
        while math.prod(source[i : ends[0]]) != math.prod(target[j : ends[1]]):
            if math.prod(source[i : ends[0]]) < math.prod(target[j : ends[1]]):
                ends = _end(source, ends[0]), ends[1]
            else:
                ends = ends[0], _end(target, ends[1])
        found.append((list(range(i, ends[0])), list(range(j, ends[1]))))
        i, j = ends
    return found


def _end(sizes: tuple[int, ...], start: int) -> int:
    """Return where the axis at ``start`` ends, those of size 1 after it included."""
    end = min(start + 1, len(sizes))
    while end < len(sizes) and sizes[end] == 1:
        end += 1
    return end


def reshaped(
    shape: tuple[int, ...], order: Order, target: tuple[int, ...]
) -> tuple[Order, tuple[int, ...], Order]:
    """Return how to reshape a tensor that stands in ``order``.

    Parameters
    ----------
    shape, target : tuple of int
        Shapes as the graph has them.
    order : tuple of int
        How the tensor stands.

    Returns
    -------
    before : tuple of int
        The order to bring it into; ``order`` itself, up to axes of size 1, where that will do.
    native : tuple of int
        The shape to give it then.
    after : tuple of int
        How the result stands.
    """
    place = {axis: position for position, axis in enumerate(order)}
    standing: list[tuple[int, Group]] = []
    innermost = -1
    for left, right in groups(shape, target):
        # A run of size 1 stays beside the one before it.
        innermost = max((place[axis] for axis in left if shape[axis] != 1), default=innermost)
        standing.append((innermost, (left, right)))
    standing.sort(key=lambda placed: placed[0])
    before = tuple(axis for _, (left, _) in standing for axis in left)
    after = tuple(axis for _, (_, right) in standing for axis in right)
    return before, tuple(target[axis] for axis in after), after
