"""A rank's way home: the engine's own standard streams, or a connection that proves who is at both of its ends."""

from __future__ import annotations

import fcntl
import hmac
import os
import secrets
import socket

from benchmarker.execution.launchers import frames

STREAMS = "streams"
SECRET = "BENCHMARKER_SECRET"  # noqa: S105 - the variable's name
HIGH = 700
"""Our own descriptors begin here, so that those below are free for what a worker inherits under a number."""
PROOF_BYTES = 32
CONNECT_SECONDS = 60.0
_CHUNK = 1 << 16


class Link:
    """Frames of one rank through descriptors that others may share.

    Parameters
    ----------
    rank : int
        Whose frames are read and written.
    incoming, outgoing : int
        Descriptors.
    """

    def __init__(self, rank: int, incoming: int, outgoing: int) -> None:
        self._rank = rank
        self._incoming = fcntl.fcntl(incoming, fcntl.F_DUPFD_CLOEXEC, HIGH)
        self._outgoing = fcntl.fcntl(outgoing, fcntl.F_DUPFD_CLOEXEC, HIGH)
        self._reader = frames.FrameReader()
        self._arrived: list[frames.Frame] = []

    def send(self, kind: bytes, data: bytes) -> None:
        """Send data; a pipe takes each frame whole."""
        for frame in frames.encode(self._rank, kind, data):
            while frame:
                frame = frame[os.write(self._outgoing, frame) :]

    def receive(self) -> frames.Frame | None:
        """Return the next frame for this rank; None if there will be no other one."""
        while not self._arrived:
            try:
                data = os.read(self._incoming, _CHUNK)
            except ConnectionError:
                return None
            if not data:
                return None
            self._arrived = [frame for frame in self._reader.take(data) if frame.rank == self._rank]
        return self._arrived.pop(0)


def open_link(where: str, rank: int) -> Link:
    """Return the way home of a rank.

    Parameters
    ----------
    where : str
        :data:`STREAMS`; or the path of a socket, or ``HOST:PORT``, with the secret in the variable :data:`SECRET`.
    """
    if where != STREAMS:
        connection = _connect(where)
        prove(connection, bytes.fromhex(os.environ.pop(SECRET)), rank)
        descriptor = connection.detach()
        link = Link(rank, descriptor, descriptor)
        os.close(descriptor)
        return link
    link = Link(rank, 0, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return link


def _connect(where: str) -> socket.socket:
    if where.startswith("/"):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(where)
        return connection
    host, _, port = where.rpartition(":")
    connection = socket.create_connection((host, int(port)), CONNECT_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.settimeout(None)
    return connection


def prove(connection: socket.socket, secret: bytes, rank: int) -> None:
    """Prove to benchmarker that this is the rank, and have it prove who it is; neither tells the secret."""
    own = secrets.token_bytes(PROOF_BYTES)
    theirs = receive_exactly(connection, PROOF_BYTES)
    number = rank.to_bytes(4, "big")
    connection.sendall(own + number + answer(secret, b"rank", theirs + number))
    if not hmac.compare_digest(receive_exactly(connection, PROOF_BYTES), answer(secret, b"home", own)):
        raise PermissionError("whoever answered does not know the secret")


def admit(connection: socket.socket, secret: bytes) -> int:
    """Return which rank has connected.

    Raises
    ------
    PermissionError
        If it does not know the secret.
    OSError
        If it says nothing more.
    """
    own = secrets.token_bytes(PROOF_BYTES)
    connection.sendall(own)
    reply = receive_exactly(connection, PROOF_BYTES + 4 + PROOF_BYTES)
    theirs, number, proof = reply[:PROOF_BYTES], reply[PROOF_BYTES:-PROOF_BYTES], reply[-PROOF_BYTES:]
    if not hmac.compare_digest(proof, answer(secret, b"rank", own + number)):
        raise PermissionError("whoever connected does not know the secret")
    connection.sendall(answer(secret, b"home", theirs))
    return int.from_bytes(number, "big")


def answer(secret: bytes, who: bytes, question: bytes) -> bytes:
    """Return what only somebody who knows the secret can."""
    return hmac.digest(secret, who + question, "sha256")


def receive_exactly(connection: socket.socket, count: int) -> bytes:
    """Return so many bytes.

    Raises
    ------
    ConnectionError
        If there are fewer.
    """
    received = b""
    while len(received) < count:
        part = connection.recv(count - len(received))
        if not part:
            raise ConnectionError("the connection ended early")
        received += part
    return received
