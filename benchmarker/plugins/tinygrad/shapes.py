"""Reductions, and operators that move elements or choose among them, in tinygrad."""

from __future__ import annotations

import math

import numpy as np

from benchmarker.graph.attributes import Slice
from benchmarker.graph.operators import Tensor
from benchmarker.graph.windows import axis_pairs
from benchmarker.plugins.tinygrad.elementwise import TinygradTensors


class ShapeOperators(TinygradTensors):
    """Reductions, reshaping, joining, cutting and gathering."""

    def reduce_mean(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return x.mean(axes or None, keepdims)

    def reduce_sum(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return x.sum(axes or None, keepdims)

    def reduce_max(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return x.max(axes or None, keepdims)

    def top_k(self, x: Tensor, *, k: int) -> Tensor:
        return x.topk(k)[0]

    def top_k_indices(self, x: Tensor, *, k: int) -> Tensor:
        return x.detach().topk(k)[1]

    def arg_max(self, x: Tensor, *, axis: int = 0, keepdims: bool = False) -> Tensor:
        return x.detach().argmax(axis, keepdims)

    def cum_sum(self, x: Tensor, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Tensor:
        turned = x.flip(axis) if reverse else x
        total = turned.cumsum(axis)
        total = total - turned if exclusive else total
        return total.flip(axis) if reverse else total

    def scatter_nd(self, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        depth = indices.shape[-1]
        rows, columns = math.prod(x.shape[:depth]), math.prod(x.shape[depth:])
        places = indices.reshape(-1, depth)
        strides = [math.prod(x.shape[axis + 1 : depth]) for axis in range(depth)]
        row = sum(places[:, axis] * stride for axis, stride in enumerate(strides))
        index = row.reshape(-1, 1).expand(-1, columns)
        given = updates.reshape(-1, columns)
        # No place is there twice, so that a sum is one of them.
        table = x.reshape(rows, columns).scatter_reduce(0, index, given, "sum", include_self=False)
        return table.reshape(x.shape)

    def reshape(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        return x.reshape(tuple(size or x.shape[axis] for axis, size in enumerate(shape)))

    def transpose(self, x: Tensor, *, perm: tuple[int, ...]) -> Tensor:
        return x.permute(perm)

    def flatten(self, x: Tensor) -> Tensor:
        return x.flatten(1)

    def concat(self, *xs: Tensor, axis: int) -> Tensor:
        return xs[0].cat(*xs[1:], dim=axis)

    def split(self, x: Tensor, *, axis: int, num_outputs: int) -> tuple[Tensor, ...]:
        return tuple(x.chunk(num_outputs, axis))

    def slice(self, x: Tensor, *, taken: Slice) -> Tensor:
        return x[taken.index(x.ndim)]

    def pad(self, x: Tensor, *, pads: tuple[int, ...], value: float = 0.0) -> Tensor:
        return x.pad(tuple(axis_pairs(pads)), value=value)

    def expand(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        return x.expand(np.broadcast_shapes(x.shape, shape))

    def gather(self, x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
        return x[(*(slice(None),) * (axis % x.ndim), indices)]

    def gather_elements(self, x: Tensor, indices: Tensor, *, axis: int = -1) -> Tensor:
        return x.gather(axis, indices)
