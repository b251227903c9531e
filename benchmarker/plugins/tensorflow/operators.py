"""The native meaning of each operator: TensorFlow's NHWC kernels, on tensors that know how their axes stand."""

from __future__ import annotations

from benchmarker.plugins.tensorflow.convolution import Convolutions
from benchmarker.plugins.tensorflow.custom import Customs
from benchmarker.plugins.tensorflow.elementwise import Elementwise
from benchmarker.plugins.tensorflow.logic import Logic
from benchmarker.plugins.tensorflow.losses import Losses
from benchmarker.plugins.tensorflow.matrices import Matrices
from benchmarker.plugins.tensorflow.normalization import Normalizations
from benchmarker.plugins.tensorflow.pooling import Pooling
from benchmarker.plugins.tensorflow.recurrent import RecurrentOperators
from benchmarker.plugins.tensorflow.shapes import Shaping


class TensorFlowOperators(
    Convolutions,
    Pooling,
    Matrices,
    Normalizations,
    Elementwise,
    Logic,
    Shaping,
    RecurrentOperators,
    Losses,
    Customs,
):
    """All operators; see :class:`~benchmarker.plugins.tensorflow.layout_operators.Arranging` for the arguments."""
