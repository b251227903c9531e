"""TensorFlow: what is known of it without importing it."""

from __future__ import annotations

from typing import Annotated

from benchmarker.api.collective import NativeCollectives
from benchmarker.api.framework import FrameworkPlugin, NativeScheme
from benchmarker.api.rules import Choice
from benchmarker.plugins.common import recorded_variables
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Options:
    """Options of the TensorFlow plugin.

    Parameters
    ----------
    xla : bool
        Compile the step with XLA (``jit_compile=True``) instead of running TensorFlow's own kernels.
    freeze : bool
        In inference, put the weights into the program as constants, as a model exported for serving
        has them; batch normalization then folds into the convolutions.
    layout : {"nhwc", "nchw"}
        Where the channels of images stand inside the program. On a CPU oneDNN has all kernels for either, in
        fp32 and bf16; resizing has them channels last alone, so that ``nchw`` transposes around it.
    """

    xla: bool = False
    freeze: bool = False
    layout: Annotated[str, Choice(("nhwc", "nchw"))] = "nhwc"


WITH_ONEDNN = {"TF_ENABLE_ONEDNN_OPTS": "1"}
"""TensorFlow itself decides by the CPU, and has no gradients of grouped and dilated convolutions without."""


COORDINATED = (
    "with ParameterServerStrategy one coordinator gives the steps to whichever worker is free, so that no rank makes "
    "steps of its own, on its own rows, that could be timed and followed"
)


def benchmarker_framework() -> FrameworkPlugin:
    return FrameworkPlugin(
        name="tensorflow",
        distribution="tensorflow-cpu",
        requirements=("tensorflow-cpu==2.21.0", "numpy"),
        cuda_requirements=("tensorflow[and-cuda]==2.21.0", "numpy"),
        implementation="benchmarker.plugins.tensorflow.framework:TensorFlow",
        python=">=3.10",
        options=Options,
        environment={
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        },
        environment_defaults=WITH_ONEDNN,
        thread_variables=("TF_NUM_INTRAOP_THREADS",),
        recorded_variables=recorded_variables.TENSORFLOW,
        devices=("cpu", "cuda"),
        precisions={"cpu": ("fp32", "fp64", "bf16"), "cuda": ("fp32", "fp64", "tf32", "bf16", "fp16")},
        colour=1,
        schemes={"all-reduce": NativeScheme("MultiWorkerMirroredStrategy, RING over gRPC")},
        unfit_schemes={"asynchronous-server": COORDINATED},
        collectives=NativeCollectives(
            {
                "all_reduce": "CollectiveReduceV2, ring over gRPC",
                "broadcast": "CollectiveBcastSendV2 and CollectiveBcastRecvV2 over gRPC",
                "all_gather": "CollectiveGatherV2, ring over gRPC",
                "all_to_all": "CollectiveAllToAllV2 over gRPC",
            },
            "benchmarker.plugins.tensorflow.collectives:TensorFlowCollective",
        ),
        rank_variables="benchmarker.plugins.tensorflow.distributed:rank_variables",
        image_decoder="benchmarker.plugins.tensorflow.images:decoder",
    )
