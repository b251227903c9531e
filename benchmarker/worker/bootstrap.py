"""First lines of a worker, run by path under the framework's own interpreter.

It ends the worker when its parent dies, reads the job, and lets exactly the packages named there be
imported from the orchestrator's side; everything else comes from the interpreter that runs this. A warm
server starts the same way; each worker that it forks then takes the same steps.
"""

from __future__ import annotations

import sys

del sys.path[0]  # this folder: its modules must not shadow top-level ones

import atexit  # noqa: E402
import contextlib  # noqa: E402
import ctypes  # noqa: E402
import faulthandler  # noqa: E402
import importlib.machinery  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import signal  # noqa: E402
import time  # noqa: E402
from collections.abc import Mapping, Sequence  # noqa: E402
from types import ModuleType  # noqa: E402

STARTED_NS = time.monotonic_ns()
PR_SET_PDEATHSIG = 1


class PackageFinder:
    """Finds the given top-level packages, each in the one folder that holds it."""

    def __init__(self, folders: Mapping[str, str]) -> None:
        self.folders = folders

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a top-level package of ours, else None."""
        if path is not None or name not in self.folders:
            return None
        return importlib.machinery.PathFinder.find_spec(name, [self.folders[name]])


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the parent dies; a parent already gone counts too, unless it is 0.

    In a container the parent may be the engine's, which nobody knows beforehand.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if parent and os.getppid() != parent:
        os._exit(1)


def read_line(descriptor: int) -> bytes:
    """Read the first line; nothing follows it before the worker has sent an event."""
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(descriptor, 1 << 20)
        if not part:
            os._exit(1)
        line += part
    return line


def leave(status: int) -> None:
    """End the process: exit functions and buffers as usual, but modules are not taken down one by one."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    ctypes.CDLL(None).fflush(None)
    os._exit(status)


def main() -> None:
    """Run the job whose event and control pipes are given on the command line, or serve those of others."""
    events, control, parent = (int(argument) for argument in sys.argv[1:4])
    started_ns, shared = STARTED_NS, None
    die_with_parent(parent)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    for descriptor in (events, control):
        os.set_inheritable(descriptor, False)
    message = json.loads(read_line(control))
    if message["affinity"]:
        os.sched_setaffinity(0, message["affinity"])
    sys.meta_path.insert(0, PackageFinder(message["packages"]))
    if "serve" in message:
        from benchmarker.worker.warm_server import serve

        os.close(control)
        # The server never returns from here, each worker that it forks does.
        forked = serve(events, message["serve"])
        started_ns, shared = time.monotonic_ns(), forked.shared
        events, control = forked.events, forked.control
        sys.argv[1:4] = map(str, (events, control, forked.server))
        die_with_parent(forked.server)
        message = {**json.loads(read_line(control)), "spawned_ns": forked.forked_ns}
        # What this worker alone starts has its mark after the server's (execution/launchers/leftovers.py).
        os.environ["BENCHMARKER_WORKER"] += f" {message['mark']}"
    from benchmarker.worker.main import work

    leave(work(message["job"], events, control, started_ns - message["spawned_ns"], shared))


main()
