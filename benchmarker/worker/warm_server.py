"""A process that has imported a framework and runs nothing: it forks a fresh worker for each run.

The orchestrator sends three descriptors per run (events, control, log) over a Unix socket, one run at a time.
Replies are JSON lines: ``started`` with the worker's process, ``ended`` with its exit status, or
``refused`` with why nothing can be forked.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import itertools
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.openmp_threads import end_openmp_threads, start_openmp_threads

LATER_IMPORTS = (
    "importlib.metadata",
    "numpy.random",
    "benchmarker.data.batches",
    "benchmarker.data.values",
    "benchmarker.problems",
    "benchmarker.worker.jobs.run",
    "benchmarker.worker.main",
    "benchmarker.worker.measurement.accuracy",
    "benchmarker.worker.measurement.breakdown",
    "benchmarker.worker.measurement.timed_part",
    "benchmarker.worker.verification.after_timing",
    "benchmarker.worker.verification.verified_start",
)
"""What a run itself imports as it reaches its stages."""
ENDING_SECONDS = 0.2
"""Threads that a library has ended take a moment to be gone."""


@dataclass(frozen=True)
class Forked:
    """What a forked worker starts with.

    Parameters
    ----------
    events, control : int
        Descriptors of its pipes.
    server : int
        The process that forked it.
    forked_ns : int
        When, by the monotonic clock.
    shared : mapping
        What it has in common with all that the server forks, as the record shows it.
    """

    events: int
    control: int
    server: int
    forked_ns: int
    shared: Mapping[str, Any]


def serve(descriptor: int, framework: str) -> Forked:
    """Fork a worker for each request; return in the worker, never in the server.

    Parameters
    ----------
    descriptor : int
        Of the socket.
    framework : str
        Value of the entry point of the framework to import.
    """
    connection = socket.socket(fileno=descriptor)
    import_seconds: float | None = None
    openmp: dict[str, int] = {}
    for number in itertools.count(1):
        descriptors = _next_request(connection)
        if import_seconds is None:
            import_seconds = _warm_up(framework, descriptors[0])
            openmp = end_openmp_threads()
        server, threads, refusal = os.getpid(), _threads(), open_driver()
        forked_ns = time.monotonic_ns()
        process = os.fork() if refusal is None else None
        if process == 0:
            _become_worker(connection, descriptors)
            start_openmp_threads(openmp)
            shared = _shared(number, import_seconds, len(threads) - 1 + sum(openmp.values()))
            return Forked(descriptors[0], descriptors[1], server, forked_ns, shared)
        for descriptor in descriptors:
            os.close(descriptor)
        if process is None:
            _reply(connection, {"refused": refusal})
        else:
            _follow(connection, process, _survivors(threads))
    raise AssertionError("numbers do not end")


def _next_request(connection: socket.socket) -> list[int]:
    """Return the descriptors of the next worker: events, control and log."""
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
    if len(descriptors) < 3:
        os._exit(0)  # the orchestrator is gone
    return descriptors


def _warm_up(framework: str, events: int) -> float:
    """Import everything that a run imports, and return how many seconds it took."""
    start = time.perf_counter()
    os.write(events, b'{"event": "stage", "name": "import"}\n')
    try:
        import_framework(framework)
    except BaseException:
        # The worker tells it, in whose stage of importing it happens again; this is its first occurrence.
        import traceback

        traceback.print_exc()
    # Set aside for good: a collection in a worker would otherwise write to each of these objects.
    gc.collect()
    gc.freeze()
    # What is not written yet every worker would write once more.
    ctypes.CDLL(None).fflush(None)
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)
    return time.perf_counter() - start


def import_framework(value: str) -> None:
    """Import a framework, by its entry point's value, and all that a run of it imports later."""
    from benchmarker.worker.loading import load_framework, load_framework_plugin

    loaded = load_framework(load_framework_plugin(value))
    for name in (*LATER_IMPORTS, *loaded.later_imports):
        importlib.import_module(name)


def _threads() -> set[str]:
    with contextlib.suppress(OSError):
        return set(os.listdir("/proc/self/task"))  # noqa: PTH208 - names, as quickly as may be
    return {str(os.getpid())}


def _survivors(before: set[str]) -> str | None:
    """Return why a fork beside these threads is dangerous, or None.

    A library that knows of forks ends its threads before one and may start others after it (OpenBLAS, the
    engine of MXNet). One that lived on through it may have held a lock, which is then held for ever in the
    worker.
    """
    deadline = time.monotonic() + ENDING_SECONDS
    while alive := (before & _threads()) - {str(os.getpid())}:
        if time.monotonic() > deadline:
            return (
                f"this framework cannot be forked: {len(alive)} of its threads run on from its import; "
                "use --start=spawn"
            )
        time.sleep(0.001)
    return None


def open_driver(folder: Path = Path("/proc/self/fd")) -> str | None:
    """Return why nothing can be forked beside an open GPU driver, or None: its state does not outlive a fork."""
    for entry in folder.glob("*"):
        with contextlib.suppress(OSError):
            if os.readlink(entry).startswith("/dev/nvidia"):  # noqa: PTH115 - no Path is wanted
                return "this framework opens the GPU's driver as it is imported; use --start=spawn"
    return None


def _become_worker(connection: socket.socket, descriptors: list[int]) -> None:
    """Be a process of its own: session, output, descriptors, and what was drawn for the server alone."""
    events, control, log = descriptors
    os.setsid()
    connection.close()
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    for descriptor in (events, control):
        os.set_inheritable(descriptor, False)
    # What the import has left to do at the end is about things of the server, and takes 40 ms with PyTorch.
    atexit._clear()
    random = sys.modules.get("numpy.random")
    if random is not None:
        random.seed()  # Python's own generator does so by itself


def _shared(number: int, import_seconds: float, threads: int) -> dict[str, Any]:
    seed = os.environ.get("PYTHONHASHSEED", "")
    return {
        "hash_seed": int(seed) if seed.isdigit() else None,
        "address_layout": True,
        "server_processes": number,
        "import_seconds": import_seconds,
        "threads_ended": threads,
    }


def _follow(connection: socket.socket, process: int, refusal: str | None) -> None:
    """Tell of a worker's start and end; one that must not run is ended before it is told what to do."""
    if refusal is None:
        _reply(connection, {"started": process})
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    # Until the worker is waited for, no other process and no other group can have its number.
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    ended = {"ended": os.waitstatus_to_exitcode(status)}
    _reply(connection, ended if refusal is None else {"refused": refusal})


def _reply(connection: socket.socket, reply: Mapping[str, Any]) -> None:
    try:
        connection.sendall((json.dumps(reply) + "\n").encode())
    except OSError:
        os._exit(0)  # the orchestrator is gone
