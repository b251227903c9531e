"""cuBLAS and cuDNN by themselves: their own calls on a GPU, as the line that shows what a framework adds.

Products of matrices are cuBLAS', everything else is cuDNN's.
"""

from __future__ import annotations

from typing import Annotated

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.rules import Choice
from benchmarker.plugins.common.recorded_variables import names
from benchmarker.quick_dataclass import dataclass

DISTRIBUTIONS = ("nvidia-cuda-runtime", "nvidia-cublas", "nvidia-cudnn-cu13")
"""The wheels that hold the libraries."""


@dataclass(frozen=True)
class Options:
    """Options of cuDNN.

    Parameters
    ----------
    algorithm : {"best", "heuristic"}
        How a convolution's algorithm is chosen before a step is timed: ``best`` times all of them, ``heuristic`` takes
        the one that cuDNN expects to be best.
    """

    algorithm: Annotated[str, Choice(("best", "heuristic"))] = "best"


def benchmarker_framework() -> FrameworkPlugin:
    """Return what is known of the libraries without loading them."""
    return FrameworkPlugin(
        name="cudnn",
        distribution="nvidia-cudnn-cu13",
        requirements=(
            "nvidia-cudnn-cu13==9.19.0.56",
            "nvidia-cublas==13.1.0.3",
            "nvidia-cuda-runtime==13.0.96",
            "numpy",
        ),
        implementation="benchmarker.plugins.cudnn.framework:Cudnn",
        options=Options,
        devices=("cuda",),
        modes=("inference",),
        precisions={"cuda": ("fp32", "fp64", "tf32", "bf16", "fp16")},
        recorded_variables=names("CUBLAS_WORKSPACE_CONFIG CUDNN_LOGLEVEL_DBG NVIDIA_TF32_OVERRIDE"),
    )
