"""Reductions, and operators that move elements or choose among them, as MXNet symbols."""

from __future__ import annotations

import math

import numpy as np

from benchmarker.errors import UnsupportedError
from benchmarker.graph.attributes import Slice
from benchmarker.graph.operators import Tensor
from benchmarker.graph.shapes import Shapes
from benchmarker.graph.types import TensorType
from benchmarker.graph.windows import axis_pairs
from benchmarker.plugins.mxnet.matrices import MatrixOperators

_MAX_FLOAT32_INDEX = 1 << 24
"""MXNet's indices of largest elements are float32."""


class ReshapingOperators(MatrixOperators):
    """Reductions, shapes, and choosing by index."""

    # --- reductions --------------------------------------------------------------------------

    def reduce_mean(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._mx.mean(x, axis=axes, keepdims=keepdims)

    def reduce_sum(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._mx.sum(x, axis=axes, keepdims=keepdims)

    def reduce_max(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        shape = self._shape(x)
        over = tuple(sorted(axis % len(shape) for axis in axes)) or tuple(range(len(shape)))
        size = math.prod(shape[axis] for axis in over)
        if not self.training or size > _MAX_FLOAT32_INDEX:
            return self._mx.max(x, axis=axes, keepdims=keepdims)
        # Native ``max`` gives each of several equal elements the whole gradient, which is no subgradient.
        left = tuple(axis for axis in range(len(shape)) if axis not in over)
        rows = self._mx.reshape(self._transpose(x, (*left, *over)), shape=(-1, size))
        largest = self._mx.pick(rows, self._mx.BlockGrad(self._mx.argmax(rows, axis=1)), axis=1)
        kept = tuple(1 if axis in over else n for axis, n in enumerate(shape) if keepdims or axis not in over)
        return self._mx.reshape(largest, shape=kept or (1,))

    def top_k(self, x: Tensor, *, k: int) -> Tensor:
        return self._mx.topk(x, axis=-1, k=k, ret_typ="value", is_ascend=False)

    def top_k_indices(self, x: Tensor, *, k: int) -> Tensor:
        return self._mx.topk(x, axis=-1, k=k, ret_typ="indices", is_ascend=False, dtype="int32")

    def arg_max(self, x: Tensor, *, axis: int = 0, keepdims: bool = False) -> Tensor:
        if self._shape(x)[axis] > _MAX_FLOAT32_INDEX:
            raise UnsupportedError(f"MXNet's argmax is exact up to {_MAX_FLOAT32_INDEX} elements of an axis")
        return self._mx.cast(self._mx.argmax(x, axis=axis, keepdims=keepdims), dtype="int32")

    def cum_sum(self, x: Tensor, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Tensor:
        axis %= len(self._shape(x))
        turned = self._mx.flip(x, axis=axis) if reverse else x
        total = self._mx.cumsum(turned, axis=axis)
        total = self._mx.elemwise_sub(total, turned) if exclusive else total
        return self._mx.flip(total, axis=axis) if reverse else total

    def scatter_nd(self, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        shape, places = self._shape(x), self._shape(indices)
        rank = len(places)
        native = self._transpose(indices, (rank - 1, *range(rank - 1)))
        ones = self._full((*places[:-1], *shape[places[-1] :]), 1.0)
        put = self._mx.scatter_nd(updates, native, shape=shape)
        return self._mx.where(self._mx.scatter_nd(ones, native, shape=shape), put, x)

    # --- shapes ------------------------------------------------------------------------------

    def reshape(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        # Sizes are worked out here: the native operator has further codes, and no empty shape.
        sizes = Shapes().reshape(TensorType(self._shape(x)), shape=shape).shape
        return self._mx.reshape(x, shape=sizes or (1,))

    def flatten(self, x: Tensor) -> Tensor:
        return self._mx.Flatten(x)

    def transpose(self, x: Tensor, *, perm: tuple[int, ...]) -> Tensor:
        return self._transpose(x, perm)

    def concat(self, *xs: Tensor, axis: int) -> Tensor:
        return self._mx.concat(*xs, dim=axis)

    def split(self, x: Tensor, *, axis: int, num_outputs: int) -> tuple[Tensor, ...]:
        return tuple(self._mx.split(x, axis=axis, num_outputs=num_outputs))

    def slice(self, x: Tensor, *, taken: Slice) -> Tensor:
        if len(taken.axes) == 1 and taken.is_contiguous:
            return self._mx.slice_axis(x, axis=taken.axes[0], begin=taken.starts[0], end=taken.ends[0])
        shape = self._shape(x)
        bounds = [part.indices(size) for part, size in zip(taken.index(len(shape)), shape)]
        begin, end, step = zip(*bounds)
        return self._mx.slice(x, begin=begin, end=end, step=step)

    def pad(self, x: Tensor, *, pads: tuple[int, ...], value: float = 0.0) -> Tensor:
        pairs = axis_pairs(pads)
        if len(pairs) in (4, 5) and not any(map(any, pairs[:2])):
            return self._pad_spatial(x, pairs[2:], value)
        shape = list(self._shape(x))
        for axis, pair in enumerate(pairs):
            sides = [self._block(shape, axis, size, value) for size in pair]
            parts = [part for part in (sides[0], x, sides[1]) if part is not None]
            x = self._mx.concat(*parts, dim=axis) if len(parts) > 1 else x
            shape[axis] += sum(pair)
        return x

    def _block(self, shape: list[int], axis: int, size: int, value: float) -> Tensor | None:
        return self._full((*shape[:axis], size, *shape[axis + 1 :]), value) if size else None

    def expand(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        return self._broadcast(x, shape)

    # --- choosing ----------------------------------------------------------------------------

    def gather(self, x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
        shape = self._shape(x)
        if axis == 0 and len(shape) == 2 and not self._is_integer(x):
            return self._mx.Embedding(indices, x, input_dim=shape[0], output_dim=shape[1], dtype=self._dtype)
        return self._mx.take(x, indices, axis=axis, mode="clip")

    def gather_elements(self, x: Tensor, indices: Tensor, *, axis: int = -1) -> Tensor:
        shape, wanted = self._shape(x), self._shape(indices)
        axis %= len(shape)
        if wanted[axis] == 1:
            return self._mx.pick(x, indices, axis=axis, keepdims=True)
        # Positions in the flattened tensor: those of the first element of each line along the axis are known.
        strides = [math.prod(shape[a + 1 :]) for a in range(len(shape))]
        lines = [n * stride for n, stride in zip(np.indices(wanted, np.int32), strides)]
        start = np.asarray(sum(lines) - lines[axis], np.int32)
        first = self._constant(f"lines{shape}{wanted}{axis}", start)
        positions = self._mx.elemwise_add(indices * strides[axis], first)
        return self._mx.take(self._mx.reshape(x, shape=(-1,)), positions, axis=0, mode="clip")
