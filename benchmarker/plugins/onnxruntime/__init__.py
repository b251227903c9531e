"""ONNX Runtime: what is known of it without importing it."""

from __future__ import annotations

from typing import Annotated

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.rules import Choice
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Options:
    """Options of ONNX Runtime.

    Parameters
    ----------
    optimization : {"all", "extended", "basic", "none"}
        How far it may transform the graph: ``basic`` folds constants and batch normalization, ``extended``
        joins operators, ``all`` (its own default) also changes the layout of images.
    denormals_as_zero : bool
        Take numbers below 1e-38 as 0, as its option ``session.set_denormal_as_zero`` does.
    provider : {"device", "dnnl", "openvino", "xnnpack"}
        The execution provider that computes, all of a model or none: ``device`` is ONNX Runtime's own for the device,
        the others are for the CPU and in some of its packages alone, such as ``onnxruntime-openvino``.
    """

    optimization: Annotated[str, Choice(("all", "extended", "basic", "none"))] = "all"
    denormals_as_zero: bool = False
    provider: Annotated[str, Choice(("device", "dnnl", "openvino", "xnnpack"))] = "device"


_RECORDED = (
    "ORT_DISABLE_TELEMETRY",
    "ORT_GQA_DISABLE_FLASH_ATTENTION",
    "ORT_DISABLE_FLASH_ATTENTION",
    "ORT_INTER_OP_NUM_THREADS",
    "ORT_INTRA_OP_NUM_THREADS",
    "ORT_MLAS_QKGEMM_S8_APPROX_VNNI",
    "ORT_TENSORRT_ENGINE_CACHE_ENABLE",
    "ORT_TENSORRT_FP16_ENABLE",
    "ORT_USE_MLAS_Q4_GEMM_MOE",
)


def benchmarker_framework() -> FrameworkPlugin:
    return FrameworkPlugin(
        name="onnxruntime",
        distribution="onnxruntime",
        requirements=("onnxruntime==1.31.1", "onnx==1.23.2", "numpy"),
        other_distributions=("onnxruntime-openvino",),
        cuda_requirements=("onnxruntime-gpu[cuda,cudnn]==1.31.1", "onnx==1.23.2", "numpy"),
        implementation="benchmarker.plugins.onnxruntime.framework:OnnxRuntime",
        python=">=3.11",
        options=Options,
        # Its wheels send events to Microsoft from a thread of their own, also while steps are timed.
        recorded_variables=_RECORDED,
        environment={"ORT_DISABLE_TELEMETRY": "1"},
        devices=("cpu", "cuda"),
        modes=("inference", "generation"),
        colour=9,
        # On a CPU it casts float16 to float32 and back, and has no double convolution.
        precisions={"cpu": ("fp32", "int8"), "cuda": ("fp32", "tf32", "fp16")},
    )
