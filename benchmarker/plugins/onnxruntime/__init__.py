"""ONNX Runtime: what is known of it without importing it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from benchmarker.framework import FrameworkPlugin
from benchmarker.layers.rules import Choice


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
    """

    optimization: Annotated[str, Choice(("all", "extended", "basic", "none"))] = "all"
    denormals_as_zero: bool = False


def benchmarker_framework() -> FrameworkPlugin:
    """Return the framework."""
    return FrameworkPlugin(
        name="onnxruntime",
        distribution="onnxruntime",
        requirements=("onnxruntime==1.31.1", "onnx==1.23.2", "numpy"),
        cuda_requirements=("onnxruntime-gpu[cuda,cudnn]==1.31.1", "onnx==1.23.2", "numpy"),
        implementation="benchmarker.plugins.onnxruntime.program:OnnxRuntime",
        python=">=3.11",
        options=Options,
        # Its wheels send events to Microsoft from a thread of their own, also while steps are timed.
        environment={"ORT_DISABLE_TELEMETRY": "1"},
        devices=("cpu", "cuda"),
        modes=("inference",),
        # On a CPU it casts float16 to float32 and back, and has no double convolution.
        precisions={"cpu": ("fp32",), "cuda": ("fp32", "tf32", "fp16")},
    )
