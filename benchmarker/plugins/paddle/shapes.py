"""Reductions, and operators that move elements or choose among them, in Paddle."""

from __future__ import annotations

import math
from typing import Any

from benchmarker.graph.attributes import Slice
from benchmarker.graph.operators import Tensor
from benchmarker.graph.windows import axis_pairs
from benchmarker.plugins.paddle.binding import PaddleFunctions, flat


class ShapeOperators(PaddleFunctions):
    """Reductions, reshaping, joining, cutting and gathering."""

    def reduce_mean(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._paddle.mean(x, axes or None, keepdims)

    def reduce_sum(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._paddle.sum(x, axes or None, keepdim=keepdims)

    def reduce_max(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        # The gradient of max is not shared among equal elements.
        return self._paddle.amax(x, axes or None, keepdims)

    def top_k(self, x: Tensor, *, k: int) -> Tensor:
        return self._paddle.topk(x, k)[0]

    def top_k_indices(self, x: Tensor, *, k: int) -> Tensor:
        # paddle.topk returns equal values in any order.
        return self._paddle.argsort(x, -1, True, True)[..., :k]

    def arg_max(self, x: Tensor, *, axis: int = 0, keepdims: bool = False) -> Tensor:
        return self._paddle.argmax(x, axis, keepdims)

    def cum_sum(self, x: Tensor, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Tensor:
        turned = self._paddle.flip(x, axis) if reverse else x
        total = self._paddle.cumsum(turned, axis)
        total = self._paddle.subtract(total, turned) if exclusive else total
        return self._paddle.flip(total, axis) if reverse else total

    def scatter_nd(self, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        return self._paddle.index_put(x, tuple(self._paddle.unbind(indices, -1)), updates)

    def reshape(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        return self._paddle.reshape(x, shape)

    def transpose(self, x: Tensor, *, perm: tuple[int, ...]) -> Tensor:
        return self._paddle.transpose(x, perm)

    def flatten(self, x: Tensor) -> Tensor:
        return self._paddle.flatten(x, 1)

    def concat(self, *xs: Tensor, axis: int) -> Tensor:
        return self._paddle.concat(xs, axis)

    def split(self, x: Tensor, *, axis: int, num_outputs: int) -> tuple[Tensor, ...]:
        return tuple(self._paddle.split(x, num_outputs, axis))

    def slice(self, x: Tensor, *, taken: Slice) -> Tensor:
        if taken.is_contiguous:
            return self._paddle.slice(x, taken.axes, taken.starts, taken.ends)
        return self._paddle.strided_slice(x, taken.axes, taken.starts, taken.ends, taken.all_steps)

    def pad(self, x: Tensor, *, pads: tuple[int, ...], value: float = 0.0) -> Tensor:
        return self._functional.pad(x, flat(axis_pairs(pads)), value=value)

    def expand(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        return self._paddle.expand(x, shape)

    def gather(self, x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
        axis %= len(x.shape)
        if axis == 0 and len(x.shape) == 2 and self._is_floating(x):
            return self._functional.embedding(indices, x)
        if len(indices.shape) == 1:
            return self._paddle.index_select(x, indices, axis)
        shape: list[Any] = [*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]]
        rows = self._paddle.reshape(indices, [math.prod(indices.shape)])
        return self._paddle.reshape(self._paddle.index_select(x, rows, axis), shape)

    def _is_floating(self, x: Tensor) -> bool:
        return bool(x.dtype == self._paddle.float32)

    def gather_elements(self, x: Tensor, indices: Tensor, *, axis: int = -1) -> Tensor:
        return self._paddle.take_along_axis(x, indices, axis, broadcast=False)
