"""The native meaning of each operator: ``jax.numpy`` and ``jax.lax``, on tensors that know how they stand."""

from __future__ import annotations

from benchmarker.plugins.jax.custom import Customs
from benchmarker.plugins.jax.elementwise import Elementwise
from benchmarker.plugins.jax.losses import Losses
from benchmarker.plugins.jax.matrices import Matrices
from benchmarker.plugins.jax.normalization import Normalizations
from benchmarker.plugins.jax.recurrent import Recurrent
from benchmarker.plugins.jax.shaping import Shaping


class JaxOperators(Normalizations, Matrices, Elementwise, Shaping, Recurrent, Losses, Customs):
    """All operators; see :class:`~benchmarker.plugins.jax.arranging.Arranging` for the arguments."""
