"""The operators as MXNet symbols."""

from __future__ import annotations

from benchmarker.plugins.mxnet.losses import LossOperators
from benchmarker.plugins.mxnet.normalizations import NormalizationOperators
from benchmarker.plugins.mxnet.recurrent import RecurrentOperators
from benchmarker.plugins.mxnet.reshaping import ReshapingOperators


class MxnetOperators(
    ReshapingOperators,
    NormalizationOperators,
    RecurrentOperators,
    LossOperators,
):
    """The whole vocabulary."""
