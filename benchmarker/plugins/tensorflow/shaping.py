"""Reductions, and operators that move elements or choose among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from benchmarker.plugins.tensorflow.arranging import Arranging
from benchmarker.plugins.tensorflow.layouts import flattened_columns
from benchmarker.plugins.tensorflow.reshaping import reshaped
from benchmarker.plugins.tensorflow.tensors import Order, Tensor


def _without(order: Order, axes: Sequence[int]) -> Order:
    """Return the order of a tensor that stood in ``order`` and lost the graph's ``axes``."""
    left = [axis for axis in range(len(order)) if axis not in axes]
    return tuple(left.index(axis) for axis in order if axis in left)


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
        return Tensor(y, x.order if keepdims else _without(x.order, chosen))

    def top_k(self, x: Tensor, *, k: int) -> Tensor:
        x = self.innermost(x)
        return Tensor(self.tf.math.top_k(self.value(x), k).values, x.order)

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
        order = max(tensors, key=lambda x: math.prod(x.shape)).order
        values = [self.arrange(x, order) for x in tensors]
        return Tensor(self.tf.concat(values, order.index(axis % len(order))), order)

    def split(self, x: Tensor, *, axis: int, num_outputs: int) -> tuple[Tensor, ...]:
        x = self.settled(x)
        (native,) = self.axes(x, (axis,))
        parts = self.tf.split(self.value(x), num_outputs, native)
        return tuple(Tensor(part, x.order) for part in parts)

    def slice(
        self,
        x: Tensor,
        *,
        axes: tuple[int, ...],
        starts: tuple[int, ...],
        ends: tuple[int, ...],
        steps: tuple[int, ...] = (),
    ) -> Tensor:
        x = self.settled(x)
        taken = [slice(None)] * x.rank
        for axis, start, end, step in zip(self.axes(x, axes), starts, ends, steps or (1,) * len(axes)):
            taken[axis] = slice(start, end, step)
        return Tensor(self.value(x)[tuple(taken)], x.order)

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
        return Tensor(self._as(y, self.compute) if x.parameter else y, tuple(order))

    def gather_elements(self, x: Tensor, indices: Tensor, *, axis: int = -1) -> Tensor:
        """Choose along the innermost axis, all others being a batch."""
        x = self.innermost(x, axis)
        y = self.tf.gather(
            self.value(x), self.arrange(indices, x.order), axis=x.rank - 1, batch_dims=x.rank - 1
        )
        return Tensor(y, x.order)
