"""An interpreter that has imported a framework, of which a fork becomes each process that is asked for.

``python -s -u warm_interpreter.py JSON`` under a framework's own interpreter; ``support/warm_interpreters.py`` is its
other end, and says what the JSON and the requests are. It ends once nothing was asked for a while, or its socket is
gone, as at the end of the tests.
"""

from __future__ import annotations

import sys

del sys.path[0]  # this folder, as the bootstrap does

import atexit  # noqa: E402
import contextlib  # noqa: E402
import ctypes  # noqa: E402
import fcntl  # noqa: E402
import gc  # noqa: E402
import importlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import runpy  # noqa: E402
import select  # noqa: E402
import signal  # noqa: E402
import socket  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
import traceback  # noqa: E402
from collections.abc import Mapping, Sequence  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

CLONE_NEWNET = 0x40000000
LATER_IMPORTS = (
    "encodings.ascii",
    "encodings.cp437",
    "faulthandler",
    "numpy.ma",
    "pkgutil",
    "benchmarker.plugins.numpy.framework",
    "benchmarker.problems.mnist_mlp",
    "benchmarker.worker.jobs.rank",
    "benchmarker.worker.jobs.train",
    "benchmarker.worker.training.session",
)
"""What many of the tests' workers import besides what a command's own server does."""
MAX_IDLE_SECONDS = 900.0
LOOK_SECONDS = 20.0
"""How often one looks whether the socket is still there."""
MAX_REQUEST_BYTES = 1 << 18
MAX_DESCRIPTORS = 32
MIN_FREE_DESCRIPTOR = 200
"""Above those that a request names."""


def warm_up(framework: str, folder: str) -> dict[str, int]:
    """Import what a worker does; return the threads that were ended for the forks, as a command's own server does.

    Our package is found in its folder for as long as that lasts: each fork's bootstrap finds it its own way.
    """
    usual = sys.path.copy()
    sys.path.append(folder)
    from benchmarker.worker.facts import packages
    from benchmarker.worker.openmp_threads import end_openmp_threads
    from benchmarker.worker.warm_server import import_framework
    from tests.in_framework.rare_collections import collect_rarely

    import_framework(framework)
    for name in LATER_IMPORTS:
        importlib.import_module(name)
    measure_quickly()
    packages()  # importlib keeps what each folder has installed
    sys.path[:] = usual
    gc.collect()
    collect_rarely()
    return end_openmp_threads()


def measure_quickly() -> None:
    """Have forks take about a tenth of the usual time for what tests seldom look at: no number of theirs is kept."""
    from benchmarker.worker.measurement import sampling, speed_probe
    from benchmarker.worker.ranks import timing
    from benchmarker.worker.verification import steps_again

    steps_again.MAX_FOLLOWED = steps_again.MANY_FOLLOWED
    sampling.WARM_UP_SECONDS /= 10
    speed_probe.MEMORY_BYTES //= 8
    timing.PARTS_SECONDS /= 10


def serve(listener: socket.socket, lock: str, place: str, openmp: Mapping[str, int]) -> None:
    """Fork for each request and tell how each fork ended; return when nothing was asked for a while, or will be.

    A fork never returns: it ends where its program does.
    """
    woken, waking = socket.socketpair()
    for end in (woken, waking):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waking.fileno())
    asking: dict[int, socket.socket] = {}
    asked = time.monotonic()
    while True:
        ready, _, _ = select.select([listener, woken], [], [], LOOK_SECONDS)
        if ready:
            asked = time.monotonic()
        is_over = time.monotonic() - asked >= MAX_IDLE_SECONDS or not Path(place).exists()
        if not ready and not asking and is_over and _leave(listener, lock, place):
            return
        if woken in ready:
            with contextlib.suppress(BlockingIOError):
                woken.recv(4096)
            for pid, status in _ended(asking):
                with contextlib.suppress(OSError), asking.pop(pid) as connection:
                    connection.send(str(status).encode())
        if listener in ready:
            connection, _ = listener.accept()
            request, descriptors, _, _ = socket.recv_fds(connection, MAX_REQUEST_BYTES, MAX_DESCRIPTORS)
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for opened in (listener, woken, waking, connection, *asking.values()):
                    opened.close()
                become(json.loads(request), descriptors, openmp)
            for number in descriptors:
                os.close(number)
            asking[pid] = connection
            with contextlib.suppress(OSError):
                connection.send(str(pid).encode())


def _ended(asking: Mapping[int, Any]) -> list[tuple[int, int]]:
    found = []
    for pid in list(asking):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            found.append((pid, os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)))
    return found


def _leave(listener: socket.socket, lock: str, place: str) -> bool:
    """Give the place up, unless someone has just come: who comes holds the lock while it does."""
    # Without its folder nobody can come any more.
    with contextlib.suppress(FileNotFoundError), open(lock) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if select.select([listener], [], [], 0)[0]:
            return False
        Path(place).unlink(missing_ok=True)
    return True


def enter_network(namespace: str) -> None:
    """Go over to a network namespace, which an open file of it names."""
    with open(namespace) as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "no way into the network namespace", namespace)


def become(request: Mapping[str, Any], descriptors: Sequence[int], openmp: Mapping[str, int]) -> None:
    """Be the process, with its descriptors under the numbers that the request names: a script, or a module after -m."""
    from benchmarker.worker.openmp_threads import start_openmp_threads

    os.setsid()
    if request["network"]:
        enter_network(request["network"])
    apart = [fcntl.fcntl(number, fcntl.F_DUPFD, MIN_FREE_DESCRIPTOR) for number in descriptors]
    for number in descriptors:
        os.close(number)
    for number, wanted in zip(apart, request["descriptors"]):
        os.dup2(number, wanted)
        os.close(number)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    atexit._clear()
    sys.modules["numpy.random"].seed()
    start_openmp_threads(openmp)
    # The working directory, which the bootstrap takes away, and what else an interpreter would begin with.
    sys.path[:0] = ["", *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os._exit(run(request["arguments"]))


def run(arguments: Sequence[str]) -> int:
    """Run a script or, after ``-m``, a module, as an interpreter would; return the status to end with.

    To take down what this process has not made itself would fail, and costs more than many runs do.
    """
    status: Any = 0
    first, *others = arguments
    sys.argv = others if first == "-m" else [first, *others]
    try:
        if first == "-m":
            runpy.run_module(others[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(first, run_name="__main__")
    except SystemExit as ending:
        status = ending.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status if isinstance(status, int) else 1


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    ended = warm_up(given["framework"], given["folder"])
    with socket.socket(fileno=given["listener"]) as listening:
        serve(listening, given["lock"], given["place"], ended)
