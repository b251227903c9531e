"""JAX: what is known of it without importing it."""

from __future__ import annotations

from typing import Annotated

from benchmarker.api.collective import NativeCollectives
from benchmarker.api.framework import FrameworkPlugin, NativeScheme
from benchmarker.api.rules import Choice
from benchmarker.plugins.common import recorded_variables
from benchmarker.quick_dataclass import dataclass


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
            # Else nothing is found again once a line of whoever calls has moved, or another command calls.
            "JAX_TRACEBACK_IN_LOCATIONS_LIMIT": "0",
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        },
        recorded_variables=recorded_variables.JAX,
        colour=8,
        compile_caches=("JAX_COMPILATION_CACHE_DIR",),
        schemes={
            # Gradients, too, are those of all ranks' rows: all of them must ask for them.
            "all-reduce": NativeScheme("shard_map over a mesh of processes, pmean over gloo", "global"),
        },
        collectives=NativeCollectives(
            {
                "all_reduce": "jax.lax.psum over gloo",
                "all_gather": "jax.lax.all_gather over gloo",
                "reduce_scatter": "jax.lax.psum_scatter over gloo",
                "all_to_all": "jax.lax.all_to_all over gloo",
            },
            "benchmarker.plugins.jax.collective_programs:JaxCollective",
        ),
        devices=("cpu", "cuda"),
        precisions={"cpu": ("fp32", "fp64", "bf16"), "cuda": ("fp32", "fp64", "tf32", "bf16", "fp16")},
    )
