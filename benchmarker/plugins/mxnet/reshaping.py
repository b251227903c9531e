"""Reductions, and operators that move elements or choose among them, as MXNet symbols."""

from __future__ import annotations

import math

import numpy as np

from benchmarker.graph.operators import Tensor
from benchmarker.graph.shapes import Shapes
from benchmarker.graph.types import TensorType
from benchmarker.graph.window_shapes import halves
from benchmarker.plugins.mxnet.matrices import MatrixOperators
from benchmarker.plugins.mxnet.windows import WindowOperators


class ReshapingOperators(WindowOperators, MatrixOperators):
    """Reductions, shapes, and choosing by index."""

    # --- reductions --------------------------------------------------------------------------

    def reduce_mean(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._mx.mean(x, axis=axes, keepdims=keepdims)

    def reduce_sum(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._mx.sum(x, axis=axes, keepdims=keepdims)

    def reduce_max(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._mx.max(x, axis=axes, keepdims=keepdims)

    def top_k(self, x: Tensor, *, k: int) -> Tensor:
        return self._mx.topk(x, axis=-1, k=k, ret_typ="value", is_ascend=False)

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

    def slice(
        self,
        x: Tensor,
        *,
        axes: tuple[int, ...],
        starts: tuple[int, ...],
        ends: tuple[int, ...],
        steps: tuple[int, ...] = (),
    ) -> Tensor:
        if len(axes) == 1 and set(steps) <= {1}:
            return self._mx.slice_axis(x, axis=axes[0], begin=starts[0], end=ends[0])
        rank = len(self._shape(x))
        begin, end, step = [0] * rank, list(self._shape(x)), [1] * rank
        for axis, start, stop, stride in zip(axes, starts, ends, steps or (1,) * len(axes)):
            begin[axis], end[axis], step[axis] = start, stop, stride
        return self._mx.slice(x, begin=tuple(begin), end=tuple(end), step=tuple(step))

    def pad(self, x: Tensor, *, pads: tuple[int, ...], value: float = 0.0) -> Tensor:
        begins, ends = halves(pads)
        if len(begins) in (4, 5) and not any((*begins[:2], *ends[:2])):
            return self._pad_spatial(x, (*begins[2:], *ends[2:]), value)
        shape = list(self._shape(x))
        for axis, (begin, end) in enumerate(zip(begins, ends)):
            sides = [self._block(shape, axis, size, value) for size in (begin, end)]
            parts = [part for part in (sides[0], x, sides[1]) if part is not None]
            x = self._mx.concat(*parts, dim=axis) if len(parts) > 1 else x
            shape[axis] += begin + end
        return x

    def _block(self, shape: list[int], axis: int, size: int, value: float) -> Tensor | None:
        return self._full((*shape[:axis], size, *shape[axis + 1 :]), value) if size else None

    def expand(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        return self._broadcast(x, shape)

    # --- choosing ----------------------------------------------------------------------------

    def gather(self, x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
        shape = self._shape(x)
        if axis == 0 and len(shape) == 2:
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
