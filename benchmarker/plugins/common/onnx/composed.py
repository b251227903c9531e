"""Operators written in others, for engines that would compute something else."""

from __future__ import annotations

from dataclasses import replace

from benchmarker.graph.onnx.writer.operators import OnnxOperators
from benchmarker.graph.operators import Operators, Tensor
from benchmarker.graph.windows import MaxPooling


class ComposedTanhGelu(OnnxOperators):
    """Those of ONNX, except that GELU by the hyperbolic tangent is composed of its parts."""

    def gelu(self, x: Tensor, *, approximate: str = "none") -> Tensor:
        if approximate == "tanh":
            return Operators.gelu(self, x, approximate=approximate)
        return super().gelu(x, approximate=approximate)


def rounded_down(window: MaxPooling, x: tuple[int, ...]) -> MaxPooling:
    """Return a window without ``ceil_mode`` that gives the same maxima of an input of shape ``x``."""
    begins, ends = zip(*window.covering_pairs(x))
    return replace(window, pads=(*begins, *ends), ceil_mode=False)
