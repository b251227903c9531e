"""Keras over TensorFlow: what is known of it without importing it."""

from __future__ import annotations

from dataclasses import replace

from benchmarker.api.framework import FrameworkPlugin, NativeScheme
from benchmarker.plugins.common import recorded_variables
from benchmarker.plugins.keras import over
from benchmarker.plugins.tensorflow import WITH_ONEDNN


def benchmarker_framework() -> FrameworkPlugin:
    known = over(
        "tensorflow",
        "tensorflow-cpu==2.21.0",
        implementation="OverTensorFlow",
        python=">=3.11",
        environment_defaults=WITH_ONEDNN,
        thread_variables=("TF_NUM_INTRAOP_THREADS",),
        recorded_variables=recorded_variables.TENSORFLOW,
        schemes={
            # XLA has no collectives of a CPU.
            "all-reduce": NativeScheme(
                "MultiWorkerMirroredStrategy, RING over gRPC", options={"jit": ("auto", "off")}
            ),
        },
        rank_variables="benchmarker.plugins.tensorflow.distributed:rank_variables",
    )
    return replace(known, image_decoder="benchmarker.plugins.keras.images:decoder")
