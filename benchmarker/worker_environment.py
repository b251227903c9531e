"""The environment variables of a worker: set deliberately, and recorded."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from benchmarker.experiment import RunSpec
from benchmarker.framework import FrameworkPlugin
from benchmarker.procfs.control_groups import limits
from benchmarker.procfs.files import ROOT

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
    "ORT_",
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
    environment["PYTHONHASHSEED"] = str(_hash_seed(spec))
    return environment


def _hash_seed(spec: RunSpec) -> int:
    """Return the seed of Python's hashes, which decide the order of sets and with it how a run goes.

    It is drawn anew in each repetition, so that these sample it, and is the same for all runs of one
    repetition, so that it makes no difference between those that are compared. Forked workers have their
    server's, which serves every seed and repetition.
    """
    drawn_for = "fork" if spec.start == "fork" else f"{spec.seed} {spec.repetition}"
    return int.from_bytes(hashlib.sha256(drawn_for.encode()).digest()[:4], "big")


def _passed_on(name: str) -> bool:
    if name.startswith("PYTHON"):
        return name in _KEPT_OF_PYTHON
    return name not in _DROPPED


_OF_ANOTHER_TOOL = ("TF_CLI_", "TF_DATA_DIR", "TF_PLUGIN_CACHE_DIR", "TF_VAR_")
"""Terraform's variables, which begin like TensorFlow's."""


def recorded(environment: Mapping[str, str], also: Collection[str] = ()) -> dict[str, str]:
    """Return those variables that may change what a worker does or how quickly.

    Parameters
    ----------
    environment : mapping
        All variables of the worker.
    also : collection of str
        Names of some that its framework alone knows.
    """
    return {
        name: value
        for name, value in sorted(environment.items())
        if name in _RECORDED
        or name in also
        or (name.startswith(_RECORDED_PREFIXES) and not name.startswith(_OF_ANOTHER_TOOL))
    }


def usable_cpus() -> list[int]:
    """Return the CPUs that this process may use."""
    try:
        return sorted(os.sched_getaffinity(0))
    except AttributeError:
        return list(range(os.cpu_count() or 1))


def default_threads(affinity: Sequence[int] = (), root: Path = ROOT) -> int:
    """Return the number of physical cores among the CPUs that a run may use; of CPUs where that is not told.

    Never more than the control group's quota gives time for: its threads would all stand still together
    once it is used up.

    Parameters
    ----------
    affinity : sequence of int
        CPUs it is bound to; empty for all that this process may use.
    root : Path
        Folder that holds ``proc`` and ``sys``.
    """
    cpus = affinity or usable_cpus()
    cores = {_core(cpu, root) for cpu in cpus}
    count = len(set(cpus)) if None in cores else len(cores)
    return min(count, granted_threads(affinity, root))


def granted_threads(affinity: Sequence[int] = (), root: Path = ROOT) -> int:
    """Return how many threads can run at a time, by affinity and by the control group's quota, rounded up."""
    cpus = len(set(affinity or usable_cpus()))
    quota = limits(root)["cpus"]
    return cpus if quota is None else min(cpus, math.ceil(quota))


def thread_fault(threads: int, affinity: Sequence[int] = (), root: Path = ROOT) -> str | None:
    """Return what is wrong with a number of threads, or None."""
    if threads < 1:
        return f"the number of threads must be at least 1, got {threads}"
    granted = granted_threads(affinity, root)
    if threads <= granted:
        return None
    who = "affinity" if granted == len(set(affinity or usable_cpus())) else "the control group's quota"
    return f"{threads} threads were asked for, but {who} grants {granted}; ask for {granted} or fewer"


def _core(cpu: int, root: Path) -> tuple[str, str] | None:
    topology = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
    try:
        return (topology / "physical_package_id").read_text(), (topology / "core_id").read_text()
    except OSError:
        return None
