"""The environment variables of a worker: set deliberately, and recorded."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping
from dataclasses import field

from benchmarker.api.framework import FrameworkPlugin
from benchmarker.execution.recorded_variables import RECORDED
from benchmarker.machine.secrets import is_secret_name, without_assignments
from benchmarker.quick_dataclass import dataclass

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
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
_ALLOCATORS: Mapping[str, Mapping[str, str]] = {
    "default": {},
    # The largest number that all versions of glibc read alike; without mapped blocks, buffers of a step come from the
    # heap, which keeps them.
    "no-trim": {
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TOP_PAD_": str(64 << 20),
        "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
    },
}
"""What glibc reads when the process starts, by the option ``allocator``."""
_DROPPED = ("VIRTUAL_ENV", "__PYVENV_LAUNCHER__")


@dataclass(frozen=True)
class ProcessSettings:
    """How the process of a worker is started, as far as its job does not say.

    Parameters
    ----------
    gpus : tuple of int
        Those that it may see.
    affinity : tuple of int
        CPUs that it is bound to; empty for no binding.
    repetition : int
        Which one of the same run it is.
    start : {"spawn", "fork"}
        As in :class:`~benchmarker.api.launcher.WorkerCommand`.
    compile_cache : {"kept", "cold"} or None
        Which compile cache it is given; None leaves that to the framework.
    timeout : float or None
        Seconds until it is ended.
    allocator : {"default", "no-trim"}
        Whether the C library gives memory that is freed back to the kernel.
    variables : mapping
        Further environment variables, instead of all others of these names.
    command_prefix : tuple of str
        A command that becomes the interpreter, named after it.
    descriptors : tuple of int
        Of ours that it inherits.
    """

    gpus: tuple[int, ...] = ()
    affinity: tuple[int, ...] = ()
    repetition: int = 0
    start: str = "spawn"
    compile_cache: str | None = None
    timeout: float | None = None
    allocator: str = "default"
    variables: Mapping[str, str] = field(default_factory=dict)
    command_prefix: tuple[str, ...] = ()
    descriptors: tuple[int, ...] = ()


def worker_environment(
    plugin: FrameworkPlugin,
    settings: ProcessSettings,
    *,
    threads: int,
    seed: int,
    base: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """Return all environment variables of the worker.

    The number of threads goes in before the process starts, since most libraries read it only then;
    the GPUs it may see are exactly those asked for.
    """
    passed_on = {name: value for name, value in base.items() if _passed_on(name)}
    environment = {**plugin.environment_defaults, **passed_on}
    environment.update(plugin.environment)
    environment.update({name: str(threads) for name in (*_THREAD_VARIABLES, *plugin.thread_variables)})
    environment.update(_ALLOCATORS[settings.allocator])
    environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    environment["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, settings.gpus))
    environment["PYTHONHASHSEED"] = str(_hash_seed(settings, seed))
    return {**environment, **settings.variables}


def _hash_seed(settings: ProcessSettings, seed: int) -> int:
    """Return the seed of Python's hashes, which decide the order of sets and with it how a run goes.

    It is drawn anew in each repetition, so that these sample it, and is the same for all runs of one
    repetition, so that it makes no difference between those that are compared. Forked workers have their
    server's, which serves every seed and repetition.
    """
    drawn_for = "fork" if settings.start == "fork" else f"{seed} {settings.repetition}"
    return int.from_bytes(hashlib.sha256(drawn_for.encode()).digest()[:4], "big")


def _passed_on(name: str) -> bool:
    if name.startswith("PYTHON"):
        return name in _KEPT_OF_PYTHON
    return name not in _DROPPED


def recorded(
    environment: Mapping[str, str], also: Collection[str] = (), declared: Collection[str] = ()
) -> dict[str, str]:
    """Return those variables that may change what a worker does or how quickly, none with a secret in it.

    Parameters
    ----------
    environment : mapping
        All variables of the worker.
    also : collection of str
        Names of the folders that its framework compiles into.
    declared : collection of str
        Names of others that its framework knows.
    """
    names = {*RECORDED, *also, *declared}
    return {
        name: without_assignments(value)
        for name, value in sorted(environment.items())
        if name in names and not is_secret_name(name)
    }
