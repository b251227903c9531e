"""The operators as ONNX nodes."""

from __future__ import annotations

from benchmarker.graph.onnx.writer.elementwise import ElementwiseOperators
from benchmarker.graph.onnx.writer.logic import LogicOperators
from benchmarker.graph.onnx.writer.normalization import NormalizationOperators
from benchmarker.graph.onnx.writer.products import ProductOperators
from benchmarker.graph.onnx.writer.shaping import ShapingOperators
from benchmarker.graph.onnx.writer.windows import WindowOperators


class OnnxOperators(
    WindowOperators,
    ProductOperators,
    ElementwiseOperators,
    LogicOperators,
    NormalizationOperators,
    ShapingOperators,
):
    """All that ONNX has of the vocabulary: no connectionist temporal classification."""
