"""The operators as MXNet symbols."""

from __future__ import annotations

from benchmarker.plugins.mxnet.convolution import ConvolutionOperators
from benchmarker.plugins.mxnet.losses import LossOperators
from benchmarker.plugins.mxnet.normalization import NormalizationOperators
from benchmarker.plugins.mxnet.pooling import PoolingOperators
from benchmarker.plugins.mxnet.recurrent import RecurrentOperators
from benchmarker.plugins.mxnet.shapes import ReshapingOperators


class MxnetOperators(
    ConvolutionOperators,
    PoolingOperators,
    ReshapingOperators,
    NormalizationOperators,
    RecurrentOperators,
    LossOperators,
):
    """The whole vocabulary."""
