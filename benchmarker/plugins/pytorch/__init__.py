"""PyTorch: what is known of it without importing it."""

from __future__ import annotations

from benchmarker.api.collective import NativeCollectives
from benchmarker.api.framework import FrameworkPlugin, NativeScheme
from benchmarker.plugins.common import recorded_variables
from benchmarker.quick_dataclass import dataclass


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
            "cpu": ("fp32", "fp64", "bf16", "fp16", "int8"),
            "cuda": ("fp32", "fp64", "tf32", "bf16", "fp16"),
        },
        colour=0,
        schemes={
            "all-reduce": NativeScheme("DistributedDataParallel over gloo"),
            "sharded": NativeScheme(
                "fully_shard (FSDP2) over gloo",
                optimizers=("sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad"),
                precisions=("fp32", "fp64"),
            ),
        },
        collectives=NativeCollectives(
            {
                "all_reduce": "torch.distributed.all_reduce over gloo",
                "broadcast": "torch.distributed.broadcast over gloo",
                "all_gather": "torch.distributed.all_gather_into_tensor over gloo",
                "reduce_scatter": "torch.distributed.reduce_scatter_tensor over gloo",
                "all_to_all": "torch.distributed.all_to_all_single over gloo",
                "point_to_point": "torch.distributed.send and recv over gloo, or isend and irecv in a window",
            },
            "benchmarker.plugins.pytorch.collectives:TorchCollective",
        ),
        rank_variables="benchmarker.plugins.pytorch.distributed:rank_variables",
    )
