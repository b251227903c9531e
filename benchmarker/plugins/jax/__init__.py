"""JAX: what is known of it without importing it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.api.rules import Choice
from benchmarker.plugins.common import recorded_variables


@dataclass(frozen=True)
class Options:
    """Options of the JAX plugin.

    Parameters
    ----------
    layout : {"nhwc", "nchw"}
        Where the channels of images stand inside the program; the default trains faster on a CPU.
    """

    layout: Annotated[str, Choice(("nhwc", "nchw"))] = "nhwc"


def benchmarker_framework() -> FrameworkPlugin:
    return FrameworkPlugin(
        name="jax",
        distribution="jax",
        requirements=("jax==0.10.2", "numpy"),
        cuda_requirements=("jax[cuda12]==0.10.2", "numpy"),
        cuda_alternatives=(("jax[cuda13]==0.10.2", "numpy"),),
        implementation="benchmarker.plugins.jax.framework:Jax",
        python=">=3.11",
        options=Options,
        environment={
            # Else a program might be found under the names of another graph's nodes.
            "JAX_COMPILATION_CACHE_INCLUDE_METADATA_IN_KEY": "true",
            # Else a compilation below a second would be made anew by every process.
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        },
        recorded_variables=recorded_variables.JAX,
        compile_caches=("JAX_COMPILATION_CACHE_DIR",),
        devices=("cpu", "cuda"),
        precisions={"cpu": ("fp32", "fp64", "bf16"), "cuda": ("fp32", "fp64", "tf32", "bf16", "fp16")},
    )
