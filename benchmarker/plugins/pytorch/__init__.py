"""PyTorch: what is known of it without importing it."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.plugins.common import recorded_variables


@dataclass(frozen=True)
class Options:
    """Options of PyTorch.

    Parameters
    ----------
    compile : bool
        Run the program through ``torch.compile``, whose compilation then happens in the first step.
    channels_last : bool
        Keep images and the weights of convolutions with the channels innermost in memory.
    cudnn_benchmark : bool
        Let cuDNN try its convolution algorithms in the first step and keep the fastest.
    """

    compile: bool = False
    channels_last: bool = True
    cudnn_benchmark: bool = True


def benchmarker_framework() -> FrameworkPlugin:
    return FrameworkPlugin(
        name="pytorch",
        distribution="torch",
        requirements=("torch==2.13.0", "numpy"),
        implementation="benchmarker.plugins.pytorch.framework:PytorchFramework",
        python=">=3.10",
        options=Options,
        recorded_variables=recorded_variables.PYTORCH,
        compile_caches=("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"),
        devices=("cpu", "cuda"),
        precisions={
            "cpu": ("fp32", "fp64", "bf16", "fp16"),
            "cuda": ("fp32", "fp64", "tf32", "bf16", "fp16"),
        },
        colour=0,
    )
