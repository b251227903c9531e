"""OpenBLAS by itself: products of matrices through its own calls, as the line that others are compared with."""

from __future__ import annotations

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.plugins.common.recorded_variables import names


def benchmarker_framework() -> FrameworkPlugin:
    """Return what is known of the library without loading it."""
    return FrameworkPlugin(
        name="openblas",
        distribution="scipy-openblas32",
        requirements=("scipy-openblas32==0.3.34.481.3", "numpy"),
        implementation="benchmarker.plugins.openblas.framework:Openblas",
        modes=("inference",),
        precisions={"cpu": ("fp32", "fp64")},
        recorded_variables=names("OPENBLAS_CORETYPE OPENBLAS_DEFAULT_NUM_THREADS OPENBLAS_THREAD_TIMEOUT"),
    )
