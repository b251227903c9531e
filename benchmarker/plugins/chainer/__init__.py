"""The Chainer plugin."""

from __future__ import annotations

from benchmarker.api.collective import NativeCollectives
from benchmarker.api.framework import FrameworkPlugin, NativeScheme
from benchmarker.plugins.common.recorded_variables import names
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Options:
    """Options of the Chainer plugin.

    Parameters
    ----------
    type_check : bool
        Whether each function checks the types of its inputs at each call, as Chainer does by default.
    autotune : bool
        Whether cuDNN looks for the fastest convolution (CUDA only).
    """

    type_check: bool = True
    autotune: bool = False


_COMMON = ("chainer==7.8.1", "numpy<1.24", "scipy", "setuptools<74", "protobuf<4")
"""SciPy is optional to Chainer, which warns and computes the error function element by element without it."""

_RECORDED = names(
    """
    CHAINERX_ENABLE_BLAS CHAINER_CUDNN CHAINER_CUDNN_FAST_BATCH_NORMALIZATION CHAINER_DEBUG CHAINER_DTYPE
    CHAINER_KEEP_GRAPH_ON_REPORT CHAINER_LAZY_GRAD_SUM CHAINER_SEED CHAINER_TYPE_CHECK CHAINER_USE_CUDNN
    CHAINER_USE_IDEEP CHAINER_WARN_VERSION_MISMATCH
    CUPY_ACCELERATORS CUPY_CACHE_DIR CUPY_CACHE_IN_MEMORY CUPY_CACHE_SAVE_CUDA_SOURCE CUPY_COMPILE_WITH_PTX
    CUPY_CUDA_COMPILE_WITH_DEBUG CUPY_CUDA_PER_THREAD_DEFAULT_STREAM CUPY_DISABLE_JITIFY_CACHE
    CUPY_DUMP_CUDA_SOURCE_ON_ERROR CUPY_EXPERIMENTAL_SLICE_COPY CUPY_GPU_MEMORY_LIMIT CUPY_TF32
    """
)


def benchmarker_framework() -> FrameworkPlugin:
    """Return what is known of Chainer without importing it.

    Notes
    -----
    Chainer 7.8 was made for CuPy 7.7 and 7.8, which have no wheels for Python 3.9 and newer; its release
    notes promise limited support for CuPy 8 and 9 and none for CuPy 10 and newer. CuPy 9.6, the newest of
    these, has wheels for Python 3.9 at most, so a CUDA environment needs that Python.
    """
    return FrameworkPlugin(
        name="chainer",
        distribution="chainer",
        requirements=_COMMON,
        implementation="benchmarker.plugins.chainer.framework:ChainerFramework",
        python=">=3.9,<3.12",
        cuda_requirements=(*_COMMON, "cupy-cuda114==9.6.0"),
        build_constraints=("setuptools<80",),
        options=Options,
        recorded_variables=_RECORDED,
        compile_caches=("CUPY_CACHE_DIR",),
        devices=("cpu", "cuda"),
        precisions={"cpu": ("fp32", "fp64"), "cuda": ("fp32", "fp64", "fp16")},
        colour=3,
        schemes={"all-reduce": NativeScheme("ChainerMN's naive communicator over MPI")},
        collectives=NativeCollectives(
            {
                "all_reduce": "ChainerMN's allreduce over MPI",
                "broadcast": "ChainerMN's bcast over MPI",
                "all_gather": "ChainerMN's allgather over MPI",
                "all_to_all": "ChainerMN's alltoall over MPI",
                "point_to_point": "ChainerMN's send and recv over MPI",
            },
            "benchmarker.plugins.chainer.collectives:ChainerCollective",
        ),
        rank_requirements=("mpi4py",),
    )
