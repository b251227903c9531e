"""NVIDIA GPUs, as the driver's management library (NVML) describes them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from benchmarker.api.collector import Run, Unavailable
from benchmarker.machine.nvml import Session, library_exists
from benchmarker.machine.procfs.files import ROOT, integer, read_pairs

WAIT_SECONDS = 10.0


class GpuCollector:
    """Asks NVML in a thread: without a persistent driver its start takes seconds."""

    def __init__(self) -> None:
        self._question: Question | None = None

    @contextmanager
    def benchmarker_collect(self, run: Run) -> Iterator[list[dict[str, Any]]]:
        """Yield a list that has one object for each GPU when the context is left."""
        if not library_exists():
            raise Unavailable("no NVIDIA driver: its management library NVML is not installed", readings=[])
        question = self._question = Question(run.anonymous)
        readings: list[dict[str, Any]] = []
        try:
            yield readings
            readings += question.answer(WAIT_SECONDS)
        finally:
            self._question = None

    def benchmarker_before_timing(self, run: Run) -> None:
        """Wait for NVML, which is shut down before anything is timed."""
        if self._question is not None:
            self._question.wait(WAIT_SECONDS)


class Question:
    """NVML being asked in a thread that does not keep the process alive."""

    def __init__(self, anonymous: bool) -> None:
        self._devices: list[dict[str, Any]] | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._ask, args=(anonymous,), name="nvml", daemon=True)
        self._thread.start()

    def _ask(self, anonymous: bool) -> None:
        try:
            import pynvml

            self._devices = read_all(pynvml, anonymous)
        except Exception as error:
            self._error = error

    def wait(self, timeout: float) -> None:
        """Return when the answer is there, at the latest after ``timeout`` seconds."""
        self._thread.join(timeout)

    def answer(self, timeout: float) -> list[dict[str, Any]]:
        """Return the devices or raise what kept NVML from telling."""
        self.wait(timeout)
        if self._error is not None:
            raise self._error
        if self._devices is None:
            raise TimeoutError(f"NVML did not answer within {timeout:g} s")
        return self._devices


def read_all(nvml: Any, anonymous: bool) -> list[dict[str, Any]]:
    """Return one object for each GPU.

    Parameters
    ----------
    nvml : module
        ``pynvml`` of the distribution nvidia-ml-py. Shut down on return.
    anonymous : bool
        Whether to leave out the universally unique identifier.

    Raises
    ------
    Unavailable
        If NVML cannot be initialised or finds no GPU.
    """
    with closing(Session(nvml)) as session:
        system = _system(session)
        indices = range(len(session.devices))
        return [{**_device(session, index, anonymous), **system} for index in indices]


def _system(session: Session) -> dict[str, Any]:
    cuda = session.ask(session.nvml.nvmlSystemGetCudaDriverVersion)
    return {
        "driver_version": session.ask(session.nvml.nvmlSystemGetDriverVersion),
        # 12040 is CUDA 12.4
        "cuda_driver_version": f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None,
    }


def _device(session: Session, index: int, anonymous: bool) -> dict[str, Any]:
    nvml, handle = session.nvml, session.devices[index]
    if handle is None:
        return {"index": index, "name": None}

    def ask(question: Callable[..., Any], *arguments: Any) -> Any:
        return session.ask(question, handle, *arguments)

    memory = ask(nvml.nvmlDeviceGetMemoryInfo)
    capability = ask(nvml.nvmlDeviceGetCudaComputeCapability)
    milliwatts = ask(nvml.nvmlDeviceGetPowerManagementLimit)
    return {
        "index": index,
        "name": ask(nvml.nvmlDeviceGetName),
        **({} if anonymous else {"uuid": ask(nvml.nvmlDeviceGetUUID)}),
        "memory_total_bytes": memory.total if memory else None,
        "memory_used_bytes": memory.used if memory else None,
        "compute_capability": ".".join(map(str, capability)) if capability else None,
        "clocks_mhz": {
            "sm": ask(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM),
            "sm_max": ask(nvml.nvmlDeviceGetMaxClockInfo, nvml.NVML_CLOCK_SM),
            "memory": ask(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_MEM),
            "memory_max": ask(nvml.nvmlDeviceGetMaxClockInfo, nvml.NVML_CLOCK_MEM),
        },
        "power_limit_watts": milliwatts / 1000 if milliwatts is not None else None,
        "temperature_celsius": ask(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
        "ecc": _current(ask(nvml.nvmlDeviceGetEccMode), nvml.NVML_FEATURE_ENABLED),
        "mig": _current(ask(nvml.nvmlDeviceGetMigMode), nvml.NVML_DEVICE_MIG_ENABLE),
        "pcie": {
            "generation": ask(nvml.nvmlDeviceGetCurrPcieLinkGeneration),
            "generation_max": ask(nvml.nvmlDeviceGetMaxPcieLinkGeneration),
            "width": ask(nvml.nvmlDeviceGetCurrPcieLinkWidth),
            "width_max": ask(nvml.nvmlDeviceGetMaxPcieLinkWidth),
        },
        "other_processes": _strangers(ask(nvml.nvmlDeviceGetComputeRunningProcesses)),
    }


def _current(modes: Any, enabled: int) -> bool | None:
    """Return whether the current one of the pair (current, after the next reset) is on."""
    return bool(modes[0] == enabled) if modes else None


def _strangers(processes: Any) -> int | None:
    """Count the computing processes that this one did not start."""
    if processes is None:
        return None
    return sum(not _is_descendant(process.pid) for process in processes)


def _is_descendant(pid: int) -> bool:
    """Tell whether ``pid`` is this process or was started by it, as far as ``/proc`` shows."""
    ancestor: int | None = pid
    while ancestor and ancestor > 1:
        if ancestor == os.getpid():
            return True
        ancestor = integer(read_pairs(ROOT / f"proc/{ancestor}/status").get("PPid"))
    return False
