"""Connections of ranks to benchmarker, for engines whose standard input reaches one rank or none.

On one machine they go through a socket in a folder that only this user may enter, so that no port is opened. Between
machines they go to a port that is open until all ranks are there, and only to whoever proves that it knows a secret
that the engine has given to its ranks. What is said then is not encrypted, as what ranks say to each other is not.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmarker.cache import temporary_folder
from benchmarker.errors import EnvironmentCreationError
from benchmarker.execution.launchers.engine_client import EngineClient
from benchmarker.execution.launchers.engine_launcher import OpenEngine
from benchmarker.execution.launchers.rank_link import PROOF_BYTES, SECRET, admit

PROOF_SECONDS = 10.0
"""How long whoever connects may take to prove who it is."""
MAX_STRANGERS = 1000
"""How many may connect that prove nothing."""


@contextlib.contextmanager
def through_connections(
    start: Callable[[str, Mapping[str, str]], EngineClient], processes: int, host: str | None
) -> Iterator[OpenEngine]:
    """Yield an engine once each of its ranks has connected, or it has ended.

    Parameters
    ----------
    start : callable
        Starts it with where its ranks connect to, and variables that they must have.
    processes : int
        How many ranks there are.
    host : str or None
        The address of this machine that ranks on others reach it by; None where all are on this one.

    Raises
    ------
    EnvironmentCreationError
        If others connect all the time.
    """
    secret = secrets.token_bytes(PROOF_BYTES)
    with contextlib.ExitStack() as cleanup:
        listening, where = _listen(host, cleanup)
        client = start(where, {SECRET: secret.hex()})
        cleanup.callback(client.leave)
        connections: dict[int, socket.socket] = {}
        # Sooner than the engine's end: ranks leave when nobody tells them anything any more.
        cleanup.callback(_close, connections)
        _accept(listening, secret, client, connections, processes)
        listening.close()
        descriptors = [connections[rank].fileno() for rank in sorted(connections)]
        yield OpenEngine(client, descriptors, descriptors)


def _close(connections: Mapping[int, socket.socket]) -> None:
    for connection in connections.values():
        connection.close()


def _listen(host: str | None, cleanup: contextlib.ExitStack) -> tuple[socket.socket, str]:
    if host is None:
        path = Path(cleanup.enter_context(temporary_folder())) / "ranks"
        listening = cleanup.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(str(path))
        where = str(path)
    else:
        listening = cleanup.enter_context(socket.socket(socket.AF_INET))
        listening.bind((host, 0))
        where = f"{host}:{listening.getsockname()[1]}"
    listening.listen(socket.SOMAXCONN)
    return listening, where


def _accept(
    listening: socket.socket,
    secret: bytes,
    client: EngineClient,
    connections: dict[int, socket.socket],
    processes: int,
) -> None:
    """Admit ranks until all are there, or the engine has ended without."""
    ended, ending = os.pipe()

    def wait() -> None:
        client.process.wait()
        os.close(ending)

    threading.Thread(target=wait, name="engine", daemon=True).start()
    strangers = 0
    with contextlib.closing(os.fdopen(ended, "rb")), selectors.DefaultSelector() as selector:
        selector.register(listening, selectors.EVENT_READ)
        selector.register(ended, selectors.EVENT_READ)
        while len(connections) < processes:
            if any(key.fd == ended for key, _ in selector.select()):
                return
            if not _admitted(listening, secret, connections, processes):
                strangers += 1
            if strangers > MAX_STRANGERS:
                raise EnvironmentCreationError(
                    "something other than the ranks keeps connecting to benchmarker"
                )


def _admitted(
    listening: socket.socket, secret: bytes, connections: dict[int, socket.socket], processes: int
) -> bool:
    """Take a connection if it is a rank's that has none yet."""
    connection, _ = listening.accept()
    connection.settimeout(PROOF_SECONDS)
    try:
        rank = admit(connection, secret)
    except OSError:  # among them one that does not know the secret
        connection.close()
        return False
    if rank in connections or rank >= processes:
        connection.close()
        return False
    connection.settimeout(None)
    connections[rank] = connection
    return True
