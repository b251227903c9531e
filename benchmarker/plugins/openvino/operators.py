"""The operators as ONNX nodes that OpenVINO reads as they are meant."""

from __future__ import annotations

from benchmarker.graph.onnx.writer.operators import OnnxOperators
from benchmarker.graph.operators import Tensor
from benchmarker.graph.windows import MaxPooling
from benchmarker.plugins.common.onnx.composed import rounded_down


class OpenVinoOperators(OnnxOperators):
    """Those of ONNX, but where OpenVINO would compute something else."""

    def max_pool(self, x: Tensor, *, window: MaxPooling) -> Tensor:
        # It would keep a last window that begins in the padding.
        return super().max_pool(x, window=rounded_down(window, self._shape(x)))
