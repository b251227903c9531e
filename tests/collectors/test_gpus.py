"""The GPU collector. NVML is not on a machine without a GPU, so its functions are stood in for here."""

from __future__ import annotations

import inspect
import json
import os
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from benchmarker.api.collector import Unavailable
from benchmarker.collectors import gpus
from benchmarker.machine.nvml import library_exists
from benchmarker.orchestration.collector_session import CollectorSession
from tests.support.collectors import RUN, collected


def pynvml_like(**answers: Any) -> Any:
    """Return the real module's names, with functions that answer as told and are otherwise not supported."""
    calls: list[str] = []

    class Nvml:
        def __init__(self) -> None:
            self.calls = calls

        def __getattr__(self, name: str) -> Any:
            real = getattr(pynvml, name)
            if not inspect.isfunction(real):
                return real

            def answer(*arguments: Any) -> Any:
                inspect.signature(real).bind(*arguments)
                calls.append(name)
                if name not in answers:
                    raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
                value = answers[name]
                return value(*arguments) if callable(value) else value

            return answer

    return Nvml()


def one_gpu(**changed: Any) -> Any:
    answers: dict[str, Any] = {
        "nvmlInit": None,
        "nvmlShutdown": None,
        "nvmlDeviceGetCount": 1,
        "nvmlDeviceGetHandleByIndex": lambda index: f"handle {index}",
        "nvmlSystemGetDriverVersion": "550.54.15",
        "nvmlSystemGetCudaDriverVersion": 12040,
        "nvmlDeviceGetName": b"NVIDIA H200",
        "nvmlDeviceGetUUID": "GPU-1234",
        "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=150 * 10**9, used=10**9),
        "nvmlDeviceGetCudaComputeCapability": (9, 0),
        "nvmlDeviceGetClockInfo": lambda handle, kind: 1980 if kind == 1 else 3201,
        "nvmlDeviceGetPowerManagementLimit": 700000,
        "nvmlDeviceGetEccMode": [1, 0],
        "nvmlDeviceGetMigMode": [0, 1],
        "nvmlDeviceGetComputeRunningProcesses": [SimpleNamespace(pid=1), SimpleNamespace(pid=os.getpid())],
    }
    return pynvml_like(**{**answers, **changed})


def test_gpu_fields_and_what_nvml_does_not_tell() -> None:
    nvml = one_gpu()
    (device,) = gpus.read_all(nvml, anonymous=False)
    assert device["name"] == "NVIDIA H200"
    assert device["uuid"] == "GPU-1234"
    assert (device["driver_version"], device["cuda_driver_version"]) == ("550.54.15", "12.4")
    assert (device["compute_capability"], device["power_limit_watts"]) == ("9.0", 700.0)
    assert device["clocks_mhz"] == {"sm": 1980, "sm_max": None, "memory": 3201, "memory_max": None}
    assert (device["ecc"], device["mig"]) == (True, False)
    assert device["pcie"] == {"generation": None, "generation_max": None, "width": None, "width_max": None}
    assert device["other_processes"] == 1
    assert nvml.calls[-1] == "nvmlShutdown"


def test_gpu_identifier_is_left_out_when_anonymous() -> None:
    assert "GPU-1234" not in json.dumps(gpus.read_all(one_gpu(), anonymous=True))


def test_nvml_is_shut_down_after_a_fault_and_its_absence_is_a_fact() -> None:
    def faulty(handle: Any) -> Any:
        raise RuntimeError("broken")

    nvml = one_gpu(nvmlDeviceGetName=faulty)
    with pytest.raises(RuntimeError):
        gpus.read_all(nvml, anonymous=False)
    assert nvml.calls[-1] == "nvmlShutdown"
    with pytest.raises(Unavailable) as absence:
        gpus.read_all(pynvml_like(), anonymous=False)
    assert absence.value.readings == []
    with pytest.raises(Unavailable, match="finds no GPU"):
        gpus.read_all(one_gpu(nvmlDeviceGetCount=0), anonymous=False)


@pytest.mark.skipif(library_exists(), reason="NVML is here")
def test_a_machine_without_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    collection = collected({"gpus": gpus.GpuCollector()})
    assert collection.statuses["gpus"]["status"] == "absent"
    assert collection.readings["gpus"] == []
    # The real binding, asked in its thread, comes to the same conclusion.
    monkeypatch.setattr(gpus, "library_exists", lambda: True)
    collection = collected({"gpus": gpus.GpuCollector()})
    assert "NVML cannot be initialized" in str(collection.statuses["gpus"]["reason"])
    assert collection.readings["gpus"] == []


def test_nvml_is_waited_for_before_timing_and_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    answering, answered = threading.Event(), threading.Event()

    def slow_start() -> None:
        answering.wait(30)
        answered.set()

    monkeypatch.setattr(gpus, "library_exists", lambda: True)
    monkeypatch.setitem(sys.modules, "pynvml", one_gpu(nvmlInit=slow_start))
    with CollectorSession(RUN, {"gpus": gpus.GpuCollector()}, {}) as collection:
        assert not answered.is_set()
        threading.Timer(0.2, answering.set).start()
        collection.before_timing()
        assert answered.is_set()
    assert collection.readings["gpus"][0]["name"] == "NVIDIA H200"
    answering.clear()
    monkeypatch.setattr(gpus, "WAIT_SECONDS", 0.05)
    collection = collected({"gpus": gpus.GpuCollector()})
    assert collection.statuses["gpus"]["status"] == "failed"
    assert "did not answer within 0.05 s" in str(collection.statuses["gpus"]["reason"])
    answering.set()
