"""Reverse mode of every operator that gradients go back through."""

from __future__ import annotations

from benchmarker.plugins.numpy import (
    convolution,
    custom,
    elementwise,
    logic,
    losses,
    matrices,
    normalization,
    pooling,
    recurrent,
    reductions,
    shapes,
)
from benchmarker.plugins.numpy.base import Gradients

GRADIENTS: Gradients = {
    **convolution.GRADIENTS,
    **pooling.GRADIENTS,
    **matrices.GRADIENTS,
    **normalization.GRADIENTS,
    **elementwise.GRADIENTS,
    **logic.GRADIENTS,
    **reductions.GRADIENTS,
    **shapes.GRADIENTS,
    **recurrent.GRADIENTS,
    **losses.GRADIENTS,
    **custom.GRADIENTS,
}
"""Every primitive but dropout, which the tape turns into a product with its mask, and those through which
nothing flows (:data:`~benchmarker.graph.operators.STOPS`)."""
