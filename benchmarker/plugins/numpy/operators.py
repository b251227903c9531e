"""Forward meaning of every operator on NumPy arrays of any floating type."""

from __future__ import annotations

from typing import ClassVar

from benchmarker.graph.custom import REFERENCE
from benchmarker.plugins.numpy.base import Gradients
from benchmarker.plugins.numpy.convolution import ConvolutionOperators
from benchmarker.plugins.numpy.custom import CustomOperators
from benchmarker.plugins.numpy.elementwise import ElementwiseOperators
from benchmarker.plugins.numpy.gradients import GRADIENTS
from benchmarker.plugins.numpy.logic import LogicOperators
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
    LogicOperators,
    ReductionOperators,
    ShapeOperators,
    RecurrentOperators,
    LossOperators,
    CustomOperators,
):
    """Every primitive; composites run through their bodies, users' operators through their references."""

    framework = REFERENCE
    gradients: ClassVar[Gradients] = GRADIENTS
    """The reverse mode of each."""


class MeasuredOperators(NumpyOperators):
    """The same, but users' operators run as they are implemented for NumPy."""

    framework = "numpy"
