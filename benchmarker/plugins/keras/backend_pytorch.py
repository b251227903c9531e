"""Keras over PyTorch: what is known of it without importing it."""

from __future__ import annotations

from benchmarker.api.framework import FrameworkPlugin, NativeScheme
from benchmarker.plugins.common import recorded_variables
from benchmarker.plugins.keras import over


def benchmarker_framework() -> FrameworkPlugin:
    return over(
        "pytorch",
        "torch==2.13.0",
        implementation="OverPytorch",
        python=">=3.11",
        recorded_variables=recorded_variables.PYTORCH,
        cuda_backends=("torch==2.13.0",),
        schemes={
            "all-reduce": NativeScheme(
                "DistributedDataParallel around the model, over gloo", options={"jit": ("auto", "off")}
            ),
        },
        rank_variables="benchmarker.plugins.pytorch.distributed:rank_variables",
    )
