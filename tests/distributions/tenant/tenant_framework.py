"""Frameworks that look at their process, tell what they found, and then leave it changed."""

from __future__ import annotations

import ctypes
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarker.api import FrameworkPlugin
from benchmarker.plugins.numpy.framework import NumpyFramework

LEAK_BYTES = 1 << 30
KEPT: list[Any] = []
STATE = {"value": "as imported"}


@dataclass(frozen=True)
class Options:
    """What the run does to its process."""

    change: str = "none"


class OnNumpy:
    def benchmarker_framework(self) -> FrameworkPlugin:
        return FrameworkPlugin(
            name="tenant",
            distribution="numpy",
            requirements=("numpy",),
            implementation="tenant_framework:tenant",
            options=Options,
        )


class OnTorch:
    def benchmarker_framework(self) -> FrameworkPlugin:
        plugin = OnNumpy().benchmarker_framework()
        return replace(plugin, name="tenant_torch", distribution="torch",
                       implementation="tenant_framework:torch_tenant")  # fmt: skip


class Importing:
    """One whose import goes wrong in the way that the environment says."""

    def benchmarker_framework(self) -> FrameworkPlugin:
        plugin = OnNumpy().benchmarker_framework()
        return replace(plugin, name="tenant_importing", implementation="tenant_framework:importing")


def found() -> dict[str, Any]:
    numpy = sys.modules["numpy"]
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    facts: dict[str, Any] = {
        "state": STATE["value"],
        "variable": os.environ.get("TENANT"),
        "error_handling": numpy.geterr()["over"],
        "folder": str(Path.cwd()),
        "dumps": json.dumps.__module__,
        "random": [random.random(), float(numpy.random.random())],
        "resident": int(status["VmRSS"].split()[0]) << 10,
        "process": os.getpid(),
        "parent": os.getppid(),
        "session": [os.getsid(0), os.getpgrp()],
        "descriptors": open_descriptors(),
        "arguments": sys.argv[1:3],
        "affinity": sorted(os.sched_getaffinity(0)),
        "threads": len(list(Path("/proc/self/task").iterdir())),
        "hash": hash("a text"),
    }
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        facts["dtype"] = str(torch.get_default_dtype())
        facts["deterministic"] = torch.are_deterministic_algorithms_enabled()
    return facts


def open_descriptors() -> list[int]:
    found = list(Path("/proc/self/fd").iterdir())
    # The one that listed them is closed by now.
    return sorted(int(entry.name) for entry in found if entry.exists())


def segmentation_fault() -> None:
    ctypes.string_at(0)


def leak() -> None:
    KEPT.append(bytearray(b"x" * LEAK_BYTES))


def change_globals() -> None:
    STATE["value"] = "changed"
    os.environ["TENANT"] = "changed"
    sys.modules["numpy"].seterr(over="ignore")
    os.chdir("/")
    random.seed(1)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def change_torch() -> None:
    torch = sys.modules["torch"]
    torch.use_deterministic_algorithms(True)
    # Left behind at the end, after the run's own arithmetic.
    KEPT.append(lambda: torch.set_default_dtype(torch.float64))


def leave_a_child() -> None:
    if os.fork() == 0:
        time.sleep(1000)
        os._exit(0)


def leave_a_session() -> None:
    subprocess.Popen(["setsid", "sleep", "1000"])


def leave_a_forked_session() -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(0)


def hang() -> None:
    leave_a_child()
    time.sleep(1000)


def hang_with_session() -> None:
    leave_a_session()
    hang()


CHANGES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "segfault": segmentation_fault,
    "leak": leak,
    "globals": change_globals,
    "torch": change_torch,
    "child": leave_a_child,
    "session": leave_a_session,
    "forked_session": leave_a_forked_session,
    "hang": hang,
    "hang_with_session": hang_with_session,
    "exit": lambda: os._exit(7),
}


def looking(base: type[Any]) -> Any:
    """Return a framework like ``base`` that looks and changes."""

    class Looking(base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self._imported = set(sys.modules)

        def build(self, *arguments: Any, **settings: Any) -> Any:
            self._found = found()
            options, settings["options"] = settings["options"], self.own_options()
            CHANGES[options.change]()
            return super().build(*arguments, **settings)

        def own_options(self) -> Any:
            module = sys.modules[base.__module__.rpartition(".")[0]]
            return getattr(module, "Options", object)()

        def libraries(self) -> dict[str, str]:
            for last in filter(callable, KEPT):
                last()
            later = sorted(set(sys.modules) - self._imported)
            return {"tenant": json.dumps({**self._found, "imported_later": later})}

    return Looking()


def tenant() -> Any:
    return looking(NumpyFramework)


def torch_tenant() -> Any:
    from benchmarker.plugins.pytorch.framework import PytorchFramework

    return looking(PytorchFramework)


def importing() -> Any:
    how = os.environ["TENANT_IMPORT"]
    if how == "error":
        raise ImportError("the library 'libnothing.so' is not there")
    if how == "crash":
        ctypes.string_at(0)
    if how == "hang":
        time.sleep(1000)
    if how == "thread":
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    return tenant()
