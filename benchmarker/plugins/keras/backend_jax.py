"""Keras over JAX: what is known of it without importing it."""

from __future__ import annotations

from benchmarker.api.framework import FrameworkPlugin, NativeScheme
from benchmarker.plugins.common import recorded_variables
from benchmarker.plugins.keras import over


def benchmarker_framework() -> FrameworkPlugin:
    return over(
        "jax",
        "jax==0.10.2",
        implementation="OverJax",
        python=">=3.11",
        recorded_variables=recorded_variables.JAX,
        environment={"XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
        cuda_backends=("jax[cuda12]==0.10.2", "jax[cuda13]==0.10.2"),
        schemes={
            # XLA exchanges each gradient by itself, and takes statistics of the whole mini-batch.
            "all-reduce": NativeScheme(
                "keras.distribution.DataParallel over gloo",
                "global",
                rows="all",
                options={"jit": ("auto", "on")},
            ),
        },
    )
