"""The Chainer plugin."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarker.framework import FrameworkPlugin


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
        implementation="benchmarker.plugins.chainer.program:ChainerFramework",
        python=">=3.9,<3.12",
        cuda_requirements=(*_COMMON, "cupy-cuda114==9.6.0"),
        build_constraints=("setuptools<80",),
        options=Options,
        compile_caches=("CUPY_CACHE_DIR",),
        devices=("cpu", "cuda"),
        precisions={"cpu": ("fp32", "fp64"), "cuda": ("fp32", "fp64", "fp16")},
    )
