"""Reductions, and operators that move elements or choose among them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from benchmarker.graph.attributes import Slice
from benchmarker.plugins.jax.layout_operators import Arranging
from benchmarker.plugins.jax.tensors import LAST, PLAIN, Tensor

IN_BOUNDS = "promise_in_bounds"
"""The vocabulary has no index outside of the axis, so nothing is filled in for one."""


class Shaping(Arranging):
    """Reductions and shapes, along the axes as they stand."""

    # --- reductions --------------------------------------------------------------------------

    def reduce_mean(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._reduced(self.jnp.mean, x, axes, keepdims)

    def reduce_sum(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._reduced(self.jnp.sum, x, axes, keepdims)

    def reduce_max(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._reduced(self.jnp.max, x, axes, keepdims)

    def _reduced(
        self, function: Callable[..., Any], x: Tensor, axes: tuple[int, ...], keepdims: bool
    ) -> Tensor:
        chosen = {axis % x.rank for axis in axes} or set(range(x.rank))
        value = self.value(x)
        if len(chosen) == x.rank:
            value = self.full(value)  # a loss, or part of one
        if keepdims:
            return Tensor(function(value, axis=self.places(x, sorted(chosen)), keepdims=True), x.form)
        if x.form == LAST and not self._leaves_order(chosen, x.rank):
            x = Tensor(self.plain(x))
            value = x.value
        return Tensor(function(value, axis=self.places(x, sorted(chosen))))

    @staticmethod
    def _leaves_order(reduced: set[int], rank: int) -> bool:
        """Return whether the axes that are left stand as in the graph: no channels, or no pixels."""
        return 1 in reduced or reduced.issuperset(range(2, rank))

    def top_k(self, x: Tensor, *, k: int) -> Tensor:
        return Tensor(self.lax.top_k(self.plain(x), k)[0])

    # --- shapes ------------------------------------------------------------------------------

    def reshape(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        sizes = [x.shape[axis] if size == 0 else size for axis, size in enumerate(shape)]
        if -1 in sizes:
            known = math.prod(size for size in sizes if size != -1)
            sizes[sizes.index(-1)] = math.prod(x.shape) // known
        if x.form == LAST and len(sizes) > 2 and tuple(sizes[:2]) == x.shape[:2]:
            return Tensor(self.value(x).reshape(sizes[0], *sizes[2:], sizes[1]), LAST)
        return Tensor(self.plain(x).reshape(sizes))

    def transpose(self, x: Tensor, *, perm: tuple[int, ...]) -> Tensor:
        return Tensor(self.value(x).transpose(self.places(x, perm)))

    def concat(self, *xs: Tensor, axis: int) -> Tensor:
        form = LAST if any(x.form == LAST for x in xs) else PLAIN
        tensors = [Tensor(self.arrange(x, form), form) for x in xs]
        return Tensor(self.jnp.concatenate([x.value for x in tensors], tensors[0].place(axis)), form)

    def split(self, x: Tensor, *, axis: int, num_outputs: int) -> tuple[Tensor, ...]:
        parts = self.jnp.split(self.value(x), num_outputs, x.place(axis))
        return tuple(Tensor(part, x.form) for part in parts)

    def slice(self, x: Tensor, *, taken: Slice) -> Tensor:
        index = [slice(None)] * x.rank
        for axis, part in taken.parts:
            index[x.place(axis)] = part
        return Tensor(self.value(x)[tuple(index)], x.form)

    def pad(self, x: Tensor, *, pads: tuple[int, ...], value: float = 0.0) -> Tensor:
        pairs = [(0, 0)] * x.rank
        for axis in range(x.rank):
            pairs[x.place(axis)] = (pads[axis], pads[x.rank + axis])
        return Tensor(self.jnp.pad(self.value(x), pairs, constant_values=value), x.form)

    def expand(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        return Tensor(self.jnp.broadcast_to(self.plain(x), shape))

    # --- choosing ----------------------------------------------------------------------------

    def gather(self, x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
        """Gather before the type changes, so that only rows that are used are converted."""
        table = x.form.decode(x.value)
        place = (*(slice(None),) * (axis % x.rank), self.plain(indices))
        y = table.at[place].get(mode=IN_BOUNDS)
        return self._given(x, y)

    def _given(self, x: Tensor, y: Any) -> Tensor:
        """Return what was taken out of ``x``, of a parameter in the type of activations."""
        return Tensor(self.value(Tensor(y, parameter=x.parameter)))

    def top_k_indices(self, x: Tensor, *, k: int) -> Tensor:
        return Tensor(self.lax.top_k(self.plain(x), k)[1])

    def arg_max(self, x: Tensor, *, axis: int = 0, keepdims: bool = False) -> Tensor:
        return Tensor(self.jnp.argmax(self.plain(x), axis, keepdims=keepdims))

    def cum_sum(self, x: Tensor, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Tensor:
        value = self.plain(x)
        total = self.lax.cumsum(value, axis % x.rank, reverse)
        return Tensor(total - value if exclusive else total)

    def scatter_nd(self, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        value, places = self.plain(x), self.plain(indices)
        depth = tuple(places[..., i] for i in range(indices.shape[-1]))
        return Tensor(value.at[depth].set(self.plain(updates), mode=IN_BOUNDS, unique_indices=True))

    def gather_elements(self, x: Tensor, indices: Tensor, *, axis: int = -1) -> Tensor:
        value, places = self.plain(x), self.plain(indices)
        return Tensor(self.jnp.take_along_axis(value, places, axis=axis, mode=IN_BOUNDS))
