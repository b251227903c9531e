"""Reductions, and operators that move elements or choose among them, as ONNX nodes."""

from __future__ import annotations

import numpy as np

from benchmarker.graph.attributes import Slice
from benchmarker.graph.onnx.writer.nodes import NodeOperators
from benchmarker.graph.operators import Tensor

OPEN = -1
"""Stands in a shape for the size of a mini-batch that the model leaves open; of an ``expand``, first."""


class ShapingOperators(NodeOperators):
    """Reductions and shapes."""

    def _reduce(self, kind: str, x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
        return self._add(kind, x, self._integers(axes) if axes else None, keepdims=int(keepdims))

    def reduce_mean(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._reduce("ReduceMean", x, axes, keepdims)

    def reduce_sum(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._reduce("ReduceSum", x, axes, keepdims)

    def reduce_max(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        return self._reduce("ReduceMax", x, axes, keepdims)

    def top_k(self, x: Tensor, *, k: int) -> Tensor:
        return self._add("TopK", x, self._integers((k,)), outputs=2, axis=-1)[0]

    def top_k_indices(self, x: Tensor, *, k: int) -> Tensor:
        return self._add("TopK", x, self._integers((k,)), outputs=2, axis=-1)[1]

    def arg_max(self, x: Tensor, *, axis: int = 0, keepdims: bool = False) -> Tensor:
        return self._add("ArgMax", x, axis=axis, keepdims=int(keepdims))

    def cum_sum(self, x: Tensor, *, axis: int, exclusive: bool = False, reverse: bool = False) -> Tensor:
        place = self._constant(np.asarray(axis, np.int64))
        return self._add("CumSum", x, place, exclusive=int(exclusive), reverse=int(reverse))

    def scatter_nd(self, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        return self._add("ScatterND", x, indices, updates)

    def gather(self, x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
        return self._add("Gather", x, indices, axis=axis)

    def gather_elements(self, x: Tensor, indices: Tensor, *, axis: int = -1) -> Tensor:
        return self._add("GatherElements", x, indices, axis=axis)

    def reshape(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        return self._add("Reshape", x, self._integers(shape))

    def flatten(self, x: Tensor) -> Tensor:
        return self._add("Flatten", x, axis=1)

    def transpose(self, x: Tensor, *, perm: tuple[int, ...]) -> Tensor:
        return self._add("Transpose", x, perm=perm)

    def concat(self, *xs: Tensor, axis: int) -> Tensor:
        return self._add("Concat", *xs, axis=axis)

    def split(self, x: Tensor, *, axis: int, num_outputs: int) -> tuple[Tensor, ...]:
        parts: tuple[Tensor, ...] = self._add(
            "Split", x, outputs=num_outputs, axis=axis, num_outputs=num_outputs
        )
        return parts

    def slice(self, x: Tensor, *, taken: Slice) -> Tensor:
        counted = (taken.starts, taken.ends, taken.axes, taken.all_steps)
        return self._add("Slice", x, *(self._integers(values) for values in counted))

    def pad(self, x: Tensor, *, pads: tuple[int, ...], value: float = 0.0) -> Tensor:
        return self._add("Pad", x, self._integers(pads), self._number(value))

    def expand(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        wanted = self._with_batch(shape[1:]) if shape[:1] == (OPEN,) else self._integers(shape)
        return self._add("Expand", x, wanted)
