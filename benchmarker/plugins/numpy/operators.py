"""Forward meaning of every operator on NumPy arrays of any floating type."""

from __future__ import annotations

from benchmarker.plugins.numpy.convolution import ConvolutionOperators
from benchmarker.plugins.numpy.elementwise import ElementwiseOperators
from benchmarker.plugins.numpy.losses import LossOperators
from benchmarker.plugins.numpy.matrices import MatrixOperators
from benchmarker.plugins.numpy.normalization import NormalizationOperators
from benchmarker.plugins.numpy.pooling import PoolingOperators
from benchmarker.plugins.numpy.recurrent import RecurrentOperators
from benchmarker.plugins.numpy.reductions import ReductionOperators
from benchmarker.plugins.numpy.shapes import ShapeOperators


class NumpyOperators(
    ConvolutionOperators,
    PoolingOperators,
    MatrixOperators,
    NormalizationOperators,
    ElementwiseOperators,
    ReductionOperators,
    ShapeOperators,
    RecurrentOperators,
    LossOperators,
):
    """Every primitive; composites run through their bodies."""
