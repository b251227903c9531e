"""The operators as ONNX nodes."""

from __future__ import annotations

from benchmarker.onnx_model.exporting.elementwise import ElementwiseOperators
from benchmarker.onnx_model.exporting.normalization import NormalizationOperators
from benchmarker.onnx_model.exporting.products import ProductOperators
from benchmarker.onnx_model.exporting.shaping import ShapingOperators
from benchmarker.onnx_model.exporting.windows import WindowOperators


class OnnxOperators(
    WindowOperators,
    ProductOperators,
    ElementwiseOperators,
    NormalizationOperators,
    ShapingOperators,
):
    """All that ONNX has of the vocabulary: no connectionist temporal classification."""
