"""MXNet: symbols bound to an executor, with oneDNN on a CPU and cuDNN on a GPU."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.framework import FrameworkPlugin


@dataclass(frozen=True)
class Options:
    """Options of MXNet.

    Parameters
    ----------
    fusion : bool
        Let inference on a CPU join convolutions and fully connected layers with what follows them
        (MXNet's oneDNN subgraph backend, its own default).
    """

    fusion: bool = True


def benchmarker_framework() -> FrameworkPlugin:
    """Return the plugin."""
    return FrameworkPlugin(
        name="mxnet",
        distribution="mxnet",
        requirements=("mxnet==1.9.1", "numpy<1.24"),
        cuda_requirements=("mxnet-cu112==1.9.1", "numpy<1.24"),
        implementation="benchmarker.plugins.mxnet.program:MxnetFramework",
        python=">=3.9,<3.12",
        options=Options,
        devices=("cpu", "cuda"),
        precisions={"cpu": ("fp32",), "cuda": ("fp32", "fp16")},
    )
