"""Ports that are free now; whoever is told of one takes it later, and may find that another was quicker."""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence
from contextlib import ExitStack

from benchmarker.errors import EnvironmentCreationError

_LOOPBACK = "127.0.0.1"


def free_addresses(hosts: Sequence[str]) -> tuple[str, ...]:
    """Return ``HOST:PORT`` for each host, in their order: ports that are free now, no two alike.

    A host that is not this machine's here is one of a network that a run has to itself, where all ports are free.

    Raises
    ------
    EnvironmentCreationError
        If no port is free.
    """
    with ExitStack() as held:
        return tuple(f"{host}:{_port(host, held)}" for host in hosts)


def _port(host: str, held: ExitStack) -> int:
    """Return a free port, which is taken until the stack is left."""
    bound = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    try:
        try:
            bound.bind((host, 0))
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:
                raise
            bound.bind((_LOOPBACK, 0))
    except OSError as error:
        raise EnvironmentCreationError(f"no port is free on {host}: {error.strerror}") from error
    port: int = bound.getsockname()[1]
    return port
