"""The native meaning of each operator: ``jax.numpy`` and ``jax.lax``, on tensors that know how they stand."""

from __future__ import annotations

from benchmarker.plugins.jax.convolution import Convolutions
from benchmarker.plugins.jax.custom import Customs
from benchmarker.plugins.jax.elementwise import Elementwise
from benchmarker.plugins.jax.logic import Logic
from benchmarker.plugins.jax.losses import Losses
from benchmarker.plugins.jax.matrices import Matrices
from benchmarker.plugins.jax.normalization import Normalizations
from benchmarker.plugins.jax.pooling import Pooling
from benchmarker.plugins.jax.recurrent import RecurrentOperators
from benchmarker.plugins.jax.shapes import Shaping


class JaxOperators(
    Convolutions,
    Pooling,
    Normalizations,
    Matrices,
    Elementwise,
    Logic,
    Shaping,
    RecurrentOperators,
    Losses,
    Customs,
):
    """All operators; see :class:`~benchmarker.plugins.jax.layout_operators.Arranging` for the arguments."""
