"""The environment variables of a worker: set deliberately, and recorded."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarker.experiment import RunSpec
from benchmarker.framework import FrameworkPlugin

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
)
# Python's own variables would let the orchestrator's packages into the worker, or change how its Python
# starts and how quickly it runs; these do neither, or are recorded.
_KEPT_OF_PYTHON = (
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONIOENCODING",
    "PYTHONMALLOC",
    "PYTHONPYCACHEPREFIX",
    "PYTHONUTF8",
    "PYTHON_GIL",
    "PYTHON_JIT",
)
_DROPPED = ("VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
_RECORDED_PREFIXES = (
    "BLIS_",
    "CHAINER_",
    "CUBLAS_",
    "CUDA_",
    "CUDNN_",
    "CUPY_",
    "DNNL_",
    "GOMP_",
    "GOTO_",
    "KMP_",
    "MALLOC_",
    "MKL_",
    "MXNET_",
    "NCCL_",
    "NPY_",
    "NUMEXPR_",
    "NVIDIA_",
    "OMP_",
    "ONEDNN_",
    "OPENBLAS_",
    "PYTORCH_",
    "TF_",
    "TORCH",
    "VECLIB_",
    "XLA_",
)
_RECORDED = ("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONHASHSEED", "PYTHONMALLOC", "PYTHON_GIL", "PYTHON_JIT")


def worker_environment(
    spec: RunSpec, plugin: FrameworkPlugin, base: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return all environment variables of the worker.

    The number of threads goes in before the process starts, since most libraries read it only then;
    the GPUs it may see are exactly those asked for.
    """
    environment = {name: value for name, value in base.items() if _passed_on(name)}
    environment.update(plugin.environment)
    environment.update({name: str(spec.threads) for name in _THREAD_VARIABLES})
    environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    environment["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, spec.gpus))
    environment["PYTHONHASHSEED"] = str(spec.seed % 2**32)
    return environment


def _passed_on(name: str) -> bool:
    if name.startswith("PYTHON"):
        return name in _KEPT_OF_PYTHON
    return name not in _DROPPED


_OF_ANOTHER_TOOL = ("TF_CLI_", "TF_DATA_DIR", "TF_PLUGIN_CACHE_DIR", "TF_VAR_")
"""Terraform's variables, which begin like TensorFlow's."""


def recorded(environment: Mapping[str, str]) -> dict[str, str]:
    """Return those variables that may change what a worker does or how quickly."""
    return {
        name: value
        for name, value in sorted(environment.items())
        if name in _RECORDED
        or (name.startswith(_RECORDED_PREFIXES) and not name.startswith(_OF_ANOTHER_TOOL))
    }


def usable_cpus() -> list[int]:
    """Return the CPUs that this process may use."""
    try:
        return sorted(os.sched_getaffinity(0))
    except AttributeError:
        return list(range(os.cpu_count() or 1))


def default_threads(affinity: Sequence[int] = ()) -> int:
    """Return the number of physical cores among the CPUs that a run may use; of CPUs where that is not told.

    Parameters
    ----------
    affinity : sequence of int
        CPUs it is bound to; empty for all that this process may use.
    """
    cpus = affinity or usable_cpus()
    cores = {_core(cpu) for cpu in cpus}
    return len(set(cpus)) if None in cores else len(cores)


def _core(cpu: int) -> tuple[str, str] | None:
    topology = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
    try:
        return (topology / "physical_package_id").read_text(), (topology / "core_id").read_text()
    except OSError:
        return None
