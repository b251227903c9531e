"""A framework that goes wrong on purpose, in the way its option ``fault`` says, while it builds a program."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarker.api import FrameworkPlugin
from benchmarker.plugins.numpy.framework import NumpyFramework
from benchmarker.plugins.numpy.operators import NumpyOperators


@dataclass(frozen=True)
class Options:
    """What goes wrong, and how much memory it takes first."""

    fault: str = "none"
    number: int = 0


def benchmarker_framework() -> FrameworkPlugin:
    return FrameworkPlugin(
        name="faulty",
        distribution="numpy",
        requirements=("numpy",),
        implementation="faulty_framework:Faulty",
        options=Options,
    )


class WrongOperators(NumpyOperators):
    def relu(self, x: Any) -> Any:
        return super().relu(x) * 1.01


def bad_alloc() -> None:
    operator_new = ctypes.CDLL("libstdc++.so.6")._Znwm
    operator_new.argtypes = [ctypes.c_size_t]
    operator_new(1 << 62)


def hold_lock_and_hang() -> None:
    ctypes.PyDLL(None).sleep(1000)


def close_pipes() -> None:
    os.closerange(3, 256)


def garbage_on_the_event_pipe() -> None:
    descriptor = int(sys.argv[1])
    os.write(descriptor, b'\x00\xff{not json}\n[]\n{"event": 3}\n' + b"x" * 100_000 + b"\n")


def leave_a_child() -> None:
    if os.fork() == 0:
        time.sleep(1000)
        os._exit(0)


def fill_memory(mebibytes: int) -> None:
    kept = [bytearray(os.urandom(1) * (1 << 20)) for _ in range(mebibytes)]
    raise AssertionError(f"{len(kept)} MiB were granted")


def print_megabytes() -> None:
    for _ in range(64):
        sys.stdout.write("noise " * 20_000)
    sys.stdout.flush()
    os.write(1, bytes(range(256)) * 4096)
    sys.stderr.write("last words\n")
    raise ValueError("after the noise")


def go_wrong(options: Options) -> None:
    fault = options.fault
    if fault.startswith("signal"):
        os.kill(os.getpid(), options.number)
        time.sleep(10)
    if fault == "exception":
        raise ValueError("the plugin's own mistake")
    if fault == "memory_error":
        raise MemoryError("Unable to allocate 4.00 TiB")
    if fault == "exit":
        os._exit(options.number)
    if fault == "system_exit":
        sys.exit("leaving")
    if fault == "hang":
        Path(os.environ["BENCHMARKER_TEST_FOLDER"], "hanging").touch()
        time.sleep(1000)
    if fault == "ignore_sigterm":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)
    if fault == "memory":
        fill_memory(options.number)
    simple = {
        "bad_alloc": bad_alloc,
        "hang_in_c": hold_lock_and_hang,
        "close_pipes": close_pipes,
        "garbage": garbage_on_the_event_pipe,
        "child": leave_a_child,
        "noise": print_megabytes,
    }
    if fault in simple:
        simple[fault]()


class Faulty(NumpyFramework):
    def build(self, graph: Any, parameters: Any, **settings: Any) -> Any:
        go_wrong(settings["options"])
        program = super().build(graph, parameters, **settings)
        if settings["options"].fault == "wrong":
            program._operators = WrongOperators
        return program
