"""CuPy: what is known of it without importing it."""

from __future__ import annotations

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.plugins.common.recorded_variables import names


def benchmarker_framework() -> FrameworkPlugin:
    return FrameworkPlugin(
        name="cupy",
        distribution="cupy-cuda12x",
        requirements=("cupy-cuda12x==14.2.0", "numpy"),
        cuda_requirements=("cupy-cuda12x[ctk]==14.2.0", "numpy"),
        other_distributions=("cupy-cuda13x",),
        cuda_alternatives=(("cupy-cuda13x==14.2.0", "numpy"),),
        implementation="benchmarker.plugins.cupy.framework:Cupy",
        python=">=3.10",
        devices=("cuda",),
        precisions={"cuda": ("fp32", "fp64", "tf32")},
        recorded_variables=names(
            """
            CUPY_ACCELERATORS CUPY_CACHE_DIR CUPY_CACHE_SAVE_CUDA_SOURCE CUPY_CUDA_COMPILE_WITH_DEBUG
            CUPY_CUDA_PER_THREAD_DEFAULT_STREAM CUPY_DISABLE_JITIFY_CACHE CUPY_ENABLE_UMP
            CUPY_EXPERIMENTAL_SLICE_COPY CUPY_GPU_MEMORY_LIMIT CUPY_TF32
            """
        ),
        compile_caches=("CUPY_CACHE_DIR",),
    )
