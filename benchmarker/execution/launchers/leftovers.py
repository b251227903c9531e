"""What a worker has started outside its process group, found by a variable that it hands down.

A process that begins a session of its own (``setsid``) is in no group of the worker any more, and once its parent has
ended, nothing in the system says where it came from. Its environment does: each worker has a mark there, which
all that it starts inherits unless it is given another environment. A worker of a benchmarker that itself runs in a
worker has the marks of both.

This also runs by path next to a worker on another machine or in a container, under any Python from 3.9 on.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
from collections.abc import Mapping

VARIABLE = "BENCHMARKER_WORKER"
_MAX_ROUNDS = 5
"""Processes may start others while they are looked for; those that the kernel cannot end are not waited for."""


def new_mark() -> str:
    """Return a mark that no other worker has, as long as all others: an environment's length moves a stack."""
    return secrets.token_hex(8)


def marked(environment: Mapping[str, str], mark: str) -> dict[str, str]:
    """Return an environment with a mark, after those that we have ourselves."""
    return {**environment, VARIABLE: f"{os.environ.get(VARIABLE, '')} {mark}".lstrip()}


def end_marked(mark: str) -> bool:
    """End all processes that have a mark, as far as we may; tell whether none is left."""
    for _ in range(_MAX_ROUNDS):
        found = _processes(mark.encode())
        for process in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        if not found:
            return True
    return False


def _processes(mark: bytes) -> list[int]:
    """Return the processes whose environment, as they were started with it, has a mark."""
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - names, as quickly as may be
        # Another user's cannot be read, one that has ended has none.
        with contextlib.suppress(OSError):
            if name.isdigit() and mark in _environ(name):
                found.append(int(name))
    return found


def _environ(process: str) -> bytes:
    # Not by pathlib, which takes longer than the reading of most.
    with open(f"/proc/{process}/environ", "rb", buffering=0) as file:
        return file.read()
