"""Keras 3 as a front end over another framework; each backend is an entry of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from benchmarker.framework import FrameworkPlugin
from benchmarker.layers.rules import Choice


@dataclass(frozen=True)
class Options:
    """Options of the Keras plugins.

    Parameters
    ----------
    jit : {"auto", "on", "off"}
        What ``model.compile`` is given as ``jit_compile``. Keras' own default ``auto`` means ``jax.jit`` over
        JAX, ``tf.function`` over TensorFlow, by XLA where there is a GPU, and eager execution over PyTorch,
        where ``on`` means ``torch.compile``.
    """

    jit: Annotated[str, Choice(("auto", "on", "off"))] = "auto"


def over(backend: str, *requirements: str, implementation: str, python: str) -> FrameworkPlugin:
    """Return what is known of Keras over one backend.

    Parameters
    ----------
    backend : str
        As the entry point names it, after ``keras_``.
    *requirements : str
        Of the backend, the same as its own plugin's.
    implementation : str
        Class of the framework in :mod:`benchmarker.plugins.keras.program`.
    python : str
        PEP 440 specifier of the Python versions that it runs on.
    """
    return FrameworkPlugin(
        name=f"keras_{backend}",
        distribution="keras",
        requirements=("keras==3.15.1", *requirements, "numpy"),
        implementation=f"benchmarker.plugins.keras.program:{implementation}",
        python=python,
        options=Options,
        environment={
            "KERAS_BACKEND": {"pytorch": "torch"}.get(backend, backend),
            "TF_CPP_MIN_LOG_LEVEL": "2",
        },
        precisions={"cpu": ("fp32", "fp64")},
    )
