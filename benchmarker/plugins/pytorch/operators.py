"""The native meaning of each operator: a call of PyTorch's own function on values that ``torch.fx`` traces."""

from __future__ import annotations

from benchmarker.plugins.pytorch.convolution import ConvolutionOperators
from benchmarker.plugins.pytorch.custom import CustomOperators
from benchmarker.plugins.pytorch.elementwise import ElementwiseOperators
from benchmarker.plugins.pytorch.logic import LogicOperators
from benchmarker.plugins.pytorch.losses import LossOperators
from benchmarker.plugins.pytorch.matrices import MatrixOperators
from benchmarker.plugins.pytorch.normalization import NormalizationOperators
from benchmarker.plugins.pytorch.pooling import PoolingOperators
from benchmarker.plugins.pytorch.quantizing import QuantizingOperators
from benchmarker.plugins.pytorch.recurrent import RecurrentOperators
from benchmarker.plugins.pytorch.shapes import ShapeOperators


class PytorchOperators(
    ConvolutionOperators,
    PoolingOperators,
    MatrixOperators,
    NormalizationOperators,
    ElementwiseOperators,
    LogicOperators,
    ShapeOperators,
    RecurrentOperators,
    LossOperators,
    QuantizingOperators,
    CustomOperators,
):
    """The whole vocabulary; see :class:`~benchmarker.plugins.pytorch.tracing.TracedOperators`."""
