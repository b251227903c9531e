"""A server of MPICH's simple process management interface (PMI-1), so that ranks of our launcher are an MPI world.

Each rank inherits one end of a pair of sockets and speaks lines of ``name=value`` over it: ranks put what others must
know of them, wait for each other in a barrier, and get it (https://wiki.mpich.org/mpich/index.php/PMI_v1_Wire_Protocol).
A rank runs other people's code, so all that it may say is bounded, and whoever says anything else is hung up on.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import selectors
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

MAX_KEY = 64
MAX_VALUE = 1024
MAX_LINE = 4096
MAX_KEYS = 4096
"""How many a rank may put."""
_MAPPING = "PMI_process_mapping"
_WORD = re.compile(r"[!-<>-~]+=[!-~]*")


_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - MPICH's choice


class _HangUpError(Exception):
    """A rank said what none says."""


def mpi_variables(interface: str | None) -> dict[str, str]:
    """Return the environment variables of MPICH's ranks.

    Parameters
    ----------
    interface : str or None
        What they talk over, by TCP alone; None for shared memory.
    """
    return {
        "MPIR_CVAR_CH4_NETMOD": "ofi",
        "FI_PROVIDER": "tcp",
        "FI_TCP_IFACE": interface or "lo",
        "MPIR_CVAR_NOLOCAL": "1" if interface else "0",
        # MPI_Abort ends the process itself; else it leaves that to the server, and goes on meanwhile.
        "MPIR_CVAR_COREDUMP_ON_ABORT": "1",
    }


class PmiServer:
    """Lets ranks find each other; used as a context manager around their start and their end.

    Parameters
    ----------
    size : int
        How many ranks there are.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: dict[str, str] = {}
        # MPICH names its shared memory after this: a name that came twice would be that of another world.
        self._space = f"benchmarker_{secrets.token_hex(12)}"
        self._in_barrier: set[int] = set()
        self._lines: Mapping[str, Callable[[_Connection, Mapping[str, str]], str | None]] = {
            "init": self._init,
            "get_maxes": lambda *_: (
                f"maxes kvsname_max={MAX_KEY} keylen_max={MAX_KEY} vallen_max={MAX_VALUE}"
            ),
            "get_appnum": lambda *_: "appnum appnum=0",
            "get_my_kvsname": lambda *_: f"my_kvsname kvsname={self._space}",
            "get_universe_size": lambda *_: f"universe_size size={size}",
            "put": self._put,
            "get": self._get,
            "barrier_in": self._barrier,
            "finalize": lambda *_: "finalize_ack",
        }

    def __enter__(self) -> PmiServer:
        with contextlib.ExitStack() as cleanup:
            pairs = [tuple(map(cleanup.enter_context, socket.socketpair())) for _ in range(self._size)]
            self._connections = [_Connection(rank, ours) for rank, (ours, _) in enumerate(pairs)]
            self._theirs = [theirs for _, theirs in pairs]
            stop, self._stop = map(cleanup.enter_context, socket.socketpair())
            self._thread = threading.Thread(target=self._serve, args=(stop,), name="pmi", daemon=True)
            self._thread.start()
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.send(b"\n")
        self._thread.join()
        self._cleanup.close()
        _remove_shared_memory(self._space)

    def descriptors(self, rank: int) -> tuple[int, ...]:
        """Return what a rank inherits."""
        return (self._theirs[rank].fileno(),)

    def variables(self, rank: int) -> dict[str, str]:
        """Return the environment variables that tell a rank who it is and where to ask."""
        descriptor = self._theirs[rank].fileno()
        return {"PMI_FD": str(descriptor), "PMI_RANK": str(rank), "PMI_SIZE": str(self._size)}

    def _serve(self, stop: socket.socket) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(stop, selectors.EVENT_READ)
            for connection in self._connections:
                connection.socket.setblocking(False)
                selector.register(connection.socket, selectors.EVENT_READ, connection)
            while True:
                for key, _ in selector.select():
                    if key.data is None:
                        return
                    self._hear(key.data, selector)

    def _hear(self, connection: _Connection, selector: selectors.BaseSelector) -> None:
        """Answer what has arrived; hang up on who has left, or says what none says."""
        try:
            for line in connection.read():
                reply = self._reply(connection, line)
                if reply is not None:
                    connection.say(reply)
        except (_HangUpError, OSError):
            selector.unregister(connection.socket)
            with contextlib.suppress(OSError):
                connection.socket.shutdown(socket.SHUT_RDWR)

    def _reply(self, connection: _Connection, line: str) -> str | None:
        words = line.split(" ")
        if not all(map(_WORD.fullmatch, words)):
            raise _HangUpError
        members = dict(word.split("=", 1) for word in words)
        answer = self._lines.get(members.get("cmd", ""))
        if answer is None:
            raise _HangUpError
        return answer(connection, members)

    def _init(self, _: _Connection, members: Mapping[str, str]) -> str:
        if members.get("pmi_version") != "1":
            raise _HangUpError
        return "response_to_init pmi_version=1 pmi_subversion=1"

    def _put(self, connection: _Connection, members: Mapping[str, str]) -> str:
        key, value = members.get("key", ""), members.get("value", "")
        connection.keys += 1
        if not key or len(key) > MAX_KEY or len(value) > MAX_VALUE or connection.keys > MAX_KEYS:
            raise _HangUpError
        self._values[key] = value
        return "put_result"

    def _get(self, _: _Connection, members: Mapping[str, str]) -> str:
        key = members.get("key", "")
        # All ranks are on one node.
        value = f"(vector,(0,1,{self._size}))" if key == _MAPPING else self._values.get(key)
        return "get_result rc=-1 msg=key_not_found" if value is None else f"get_result rc=0 value={value}"

    def _barrier(self, connection: _Connection, _: Mapping[str, str]) -> str | None:
        if connection.rank in self._in_barrier:
            raise _HangUpError
        self._in_barrier.add(connection.rank)
        if len(self._in_barrier) < self._size:
            return None
        self._in_barrier.clear()
        for other in self._connections:
            if other is not connection:
                with contextlib.suppress(_HangUpError, OSError):  # it is noticed where it is heard
                    other.say("barrier_out")
        return "barrier_out"


def _remove_shared_memory(space: str) -> None:
    """Remove what ranks that were killed have left; MPICH names it by the FNV-1a hash of the space's name."""
    number = 2166136261
    for byte in space.encode():
        number = (number ^ byte) * 16777619 & 0xFFFFFFFF
    for left in _SHARED_MEMORY.glob(f"mpich_shm_{number:x}_*"):
        left.unlink(missing_ok=True)


class _Connection:
    """Our end of a rank's pair of sockets."""

    def __init__(self, rank: int, ours: socket.socket) -> None:
        self.rank = rank
        self.socket = ours
        self.keys = 0
        self._pending = b""

    def read(self) -> list[str]:
        """Return the lines that are whole now."""
        data = self.socket.recv(1 << 16)
        if not data:
            raise _HangUpError
        *lines, self._pending = (self._pending + data).split(b"\n")
        if any(len(line) > MAX_LINE for line in (*lines, self._pending)):
            raise _HangUpError
        return [line.decode("ascii", "replace").rstrip(" \r") for line in lines]

    def say(self, reply: str) -> None:
        """Send a line at once; there is room unless the rank never reads."""
        outcome = "" if " rc=" in reply else " rc=0"
        data = f"cmd={reply}{outcome}\n".encode()
        if self.socket.send(data) < len(data):
            raise _HangUpError
