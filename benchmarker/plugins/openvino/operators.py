"""The operators as ONNX nodes that OpenVINO reads as they are meant."""

from __future__ import annotations

from dataclasses import replace

from benchmarker.graph.onnx.writer.operators import OnnxOperators
from benchmarker.graph.operators import Tensor
from benchmarker.graph.windows import MaxPooling


class OpenVinoOperators(OnnxOperators):
    """Those of ONNX, but where OpenVINO would compute something else."""

    def max_pool(self, x: Tensor, *, window: MaxPooling) -> Tensor:
        # It would keep a last window that begins in the padding.
        begins, ends = zip(*window.covering_pairs(self._shape(x)))
        return super().max_pool(x, window=replace(window, pads=(*begins, *ends), ceil_mode=False))
