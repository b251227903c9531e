"""The operators as ONNX nodes that OpenVINO reads as they are meant."""

from __future__ import annotations

import numpy as np

from benchmarker.graph.onnx.writer.operators import OnnxOperators
from benchmarker.graph.operators import Tensor
from benchmarker.graph.windows import MaxPooling
from benchmarker.plugins.common.onnx.composed import rounded_down


class OpenVinoOperators(OnnxOperators):
    """Those of ONNX, but where OpenVINO would compute something else."""

    def reduce_max(self, x: Tensor, *, axes: tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
        found = super().reduce_max(x, axes=axes, keepdims=keepdims)
        if x not in self._types or self._types[x].dtype != "float32":
            return found
        # Where there is nothing but minus infinity it takes the least finite number.
        is_least = self.equal(found, self._number(float(np.finfo(np.float32).min)))
        return self.where(is_least, self._number(-np.inf), found)

    def reshape(self, x: Tensor, *, shape: tuple[int, ...]) -> Tensor:
        is_number = x in self._types and self._types[x].dtype != "bool"
        # It crashes on a product of matrices that becomes a scalar.
        return self.reduce_sum(x) if is_number and not shape else super().reshape(x, shape=shape)

    def max_pool(self, x: Tensor, *, window: MaxPooling) -> Tensor:
        # It would keep a last window that begins in the padding.
        return super().max_pool(x, window=rounded_down(window, self._shape(x)))
