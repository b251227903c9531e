"""Keras 3 as a front end over another framework; each backend is an entry of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from benchmarker.api.framework import FrameworkPlugin, NativeScheme
from benchmarker.api.rules import Choice
from benchmarker.plugins.common.recorded_variables import KERAS
from benchmarker.quick_dataclass import dataclass


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


def over(
    backend: str,
    *requirements: str,
    implementation: str,
    python: str,
    thread_variables: tuple[str, ...] = (),
    recorded_variables: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
    environment_defaults: Mapping[str, str] | None = None,
    cuda_backends: Sequence[str] | None = None,
    schemes: Mapping[str, NativeScheme] | None = None,
    rank_variables: str = "",
) -> FrameworkPlugin:
    """Return what is known of Keras over one backend.

    Parameters
    ----------
    backend : str
        As the entry point names it, after ``keras_``.
    *requirements : str
        Of the backend, the same as its own plugin's.
    implementation : str
        Class of the framework in :mod:`benchmarker.plugins.keras.framework`.
    python : str
        PEP 440 specifier of the Python versions that it runs on.
    thread_variables, recorded_variables : tuple of str
        Of the backend, the same as its own plugin's.
    environment, environment_defaults : mapping, optional
        Environment variables of the backend, and those that the user may set otherwise.
    cuda_backends : sequence of str, optional
        Requirements of the backend for a CUDA device, each of a build for another CUDA, the usual one first; none:
        it runs on a CPU only.
    schemes, rank_variables : optional
        Of Keras over the backend, as a plugin's.
    """
    cuda = [("keras==3.15.1", each, "numpy") for each in cuda_backends or ()]
    return FrameworkPlugin(
        name=f"keras_{backend}",
        distribution="keras",
        requirements=("keras==3.15.1", *requirements, "numpy"),
        implementation=f"benchmarker.plugins.keras.framework:{implementation}",
        python=python,
        options=Options,
        environment={
            "KERAS_BACKEND": {"pytorch": "torch"}.get(backend, backend),
            "TF_CPP_MIN_LOG_LEVEL": "2",
            **(environment or {}),
        },
        environment_defaults=environment_defaults or {},
        thread_variables=thread_variables,
        recorded_variables=(*KERAS, *recorded_variables),
        cuda_requirements=cuda[0] if cuda else (),
        cuda_alternatives=tuple(cuda[1:]),
        schemes=schemes or {},
        rank_variables=rank_variables,
        devices=("cpu", "cuda") if cuda else ("cpu",),
        # Near its backend's, where there is such a colour.
        colour={"pytorch": 5, "tensorflow": 6, "jax": 7}.get(backend),
        precisions={"cpu": ("fp32", "fp64"), **({"cuda": ("fp32", "fp64", "tf32")} if cuda else {})},
    )
