"""Reductions, and operators that move elements or choose among them, in PyTorch."""

from __future__ import annotations

import builtins
from typing import Any

from benchmarker.graph.attributes import Slice
from benchmarker.graph.operators import Tensor
from benchmarker.graph.windows import axis_pairs
from benchmarker.plugins.pytorch.tracing import TracedOperators, pad_argument, shape_of


class ShapeOperators(TracedOperators):
    """Reductions, reshaping, joining, cutting and gathering."""

    def reduce_mean(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._torch.mean(x, axes, keepdims)

    def reduce_sum(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._torch.sum(x, axes, keepdims)

    def reduce_max(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._torch.amax(x, axes, keepdims)

    def top_k(self, x: Tensor, *, k: int) -> Tensor:
        return self._torch.topk(x, k)[0]

    def top_k_indices(self, x: Tensor, *, k: int) -> Tensor:
        # torch.topk returns equal values in any order.
        return self._torch.argsort(x, dim=-1, descending=True, stable=True)[..., :k]

    def arg_max(self, x: Tensor, *, axis: int = 0, keepdims: bool = False) -> Tensor:
        return self._torch.argmax(x, axis, keepdims)

    def cum_sum(self, x: Tensor, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Tensor:
        turned = self._torch.flip(x, (axis,)) if reverse else x
        total = self._torch.cumsum(turned, axis)
        total = self._torch.sub(total, turned) if exclusive else total
        return self._torch.flip(total, (axis,)) if reverse else total

    def scatter_nd(self, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        depth = (shape_of(indices.node) or (0,))[-1]
        parts = self._torch.unbind(indices, -1)
        return self._torch.index_put(x, tuple(parts[i] for i in range(depth)), updates)

    def reshape(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        known = shape_of(x.node)
        sizes = (
            size if size else known[axis] if known is not None else x.size(axis)
            for axis, size in enumerate(shape)
        )
        return self._torch.reshape(x, tuple(sizes))

    def transpose(self, x: Tensor, *, perm: tuple[int, ...]) -> Tensor:
        return self._torch.permute(x, perm)

    def flatten(self, x: Tensor) -> Tensor:
        return self._torch.flatten(x, 1)

    def concat(self, *xs: Tensor, axis: int) -> Tensor:
        return self._torch.cat(xs, axis)

    def split(self, x: Tensor, *, axis: int, num_outputs: int) -> tuple[Tensor, ...]:
        parts = self._torch.chunk(x, num_outputs, axis)
        return tuple(parts[i] for i in range(num_outputs))

    def slice(self, x: Tensor, *, taken: Slice) -> Tensor:
        return x[taken.index(max(taken.axes, default=-1) + 1)]

    def pad(self, x: Tensor, *, pads: tuple[int, ...], value: float = 0.0) -> Tensor:
        return self._functional.pad(x, pad_argument(axis_pairs(pads)), value=value)

    def expand(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        return x.expand(shape)

    def gather(self, x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
        if axis == 0 and len(shape_of(x.node) or ()) == 2:
            return self._functional.embedding(indices, x)
        if len(shape_of(indices.node) or ()) == 1:
            return self._torch.index_select(x, axis, indices)
        everything: Any = builtins.slice(None)
        if axis >= 0:
            return x[(everything,) * axis + (indices,)]
        return x[(..., indices) + (everything,) * (-1 - axis)]

    def gather_elements(self, x: Tensor, indices: Tensor, *, axis: int = -1) -> Tensor:
        return self._torch.gather(x, axis, indices)
