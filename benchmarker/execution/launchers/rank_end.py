"""What an engine such as Slurm starts in place of each rank, run by path: it starts the rank's worker, and ends it.

Everything passes through one stream, in frames: what the rank is told, its events, what it prints, and what goes
through the socket that it inherits. Without a worker to start it tells where it is, and leaves.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[3]))

from benchmarker.execution.launchers import frames  # noqa: E402
from benchmarker.execution.launchers.leftovers import end_marked, marked, new_mark  # noqa: E402
from benchmarker.execution.launchers.rank_link import HIGH, Link, open_link  # noqa: E402
from benchmarker.execution.launchers.rank_place import boot_here, host_here, place_here  # noqa: E402

_CHUNK = 1 << 16


def main() -> None:
    """Tell where this rank is, or run its worker to its end."""
    rank = int(next(os.environ[name] for name in sys.argv[1].split(",") if name in os.environ))
    os.closerange(3, HIGH)  # the engine's own, so that the numbers of those that the worker inherits are free
    link = open_link(sys.argv[2], rank)
    if sys.argv[3:] == ["tell"]:
        _tell(link)
        return
    request = json.loads(_beginning(link))
    if boot_here() != request["boot"]:
        sys.exit(f"error: rank {rank} was placed on '{host_here()}' instead of '{request['host']}'")
    _RankEnd(link, request).run()


def _tell(link: Link) -> None:
    """Tell where this rank is, with a port that stays taken until all have told theirs."""
    with socket.socket() as held:
        held.bind(("", 0))
        place = {**place_here(), "port": held.getsockname()[1]}
        link.send(frames.TELL, (json.dumps(place) + "\n").encode())
        while link.receive() is not None:
            pass


def _beginning(link: Link) -> bytes:
    begun = b""
    while not begun.endswith(b"\n"):
        frame = link.receive()
        if frame is None:
            os._exit(1)
        begun += frame.payload if frame.kind == frames.BEGIN else b""
    return begun


class _RankEnd:
    """Passes on what a worker and benchmarker say to each other, until one of them is gone."""

    def __init__(self, link: Link, request: Mapping[str, Any]) -> None:
        self._link = link
        self._tunnel, theirs = _tunnel(request["sockets"])
        self._selector = selectors.DefaultSelector()
        if self._tunnel is not None:
            self._selector.register(self._tunnel, selectors.EVENT_READ, frames.SOCKET)
        events, events_in = os.pipe()
        control_out, self._control = os.pipe()
        log, log_in = os.pipe()
        message = {**request["message"], "spawned_ns": time.monotonic_ns()}
        kept = {name: os.environ[name] for name in request["kept"] if name in os.environ}
        self._mark = new_mark()
        self._worker = subprocess.Popen(
            [*request["arguments"], str(events_in), str(control_out), str(os.getpid())],
            env=marked({**kept, **request["environment"]}, self._mark),
            stdin=subprocess.DEVNULL,
            stdout=log_in,
            stderr=log_in,
            pass_fds=(events_in, control_out, *theirs),
            start_new_session=True,
        )
        for descriptor in (events_in, control_out, log_in, *theirs):
            os.close(descriptor)
        _write(self._control, (json.dumps(message) + "\n").encode())
        self._pipes = {events: frames.EVENTS, log: frames.LOG}
        for descriptor, kind in self._pipes.items():
            os.set_blocking(descriptor, False)
            self._selector.register(descriptor, selectors.EVENT_READ, kind)

    def run(self) -> None:
        """Pass on until the worker has ended, or benchmarker is gone."""
        ended, ending = os.pipe()
        self._selector.register(ended, selectors.EVENT_READ, None)
        threading.Thread(target=self._wait, args=(ending,), daemon=True).start()
        threading.Thread(target=self._obey, daemon=True).start()
        signal.signal(signal.SIGTERM, lambda *_: self._kill())
        while True:
            ready = [key for key, _ in self._selector.select()]
            for key in ready:
                if key.data is not None:
                    self._pass_on(key.fd, key.data)
            if any(key.data is None for key in ready):
                break
        self._kill()
        # What a forked child may still write is not waited for.
        for descriptor, kind in self._pipes.items():
            while descriptor in self._selector.get_map() and self._pass_on(descriptor, kind):
                pass
        self._link.send(frames.EXIT, str(self._worker.returncode).encode())
        os._exit(0)

    def _pass_on(self, descriptor: int, kind: bytes) -> bool:
        """Send what is there; return whether there may be more."""
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data:
            self._link.send(kind, data)
        else:
            self._selector.unregister(descriptor)
        return bool(data)

    def _wait(self, ending: int) -> None:
        self._worker.wait()
        os.close(ending)

    def _obey(self) -> None:
        """Do what this rank is told, until there is nobody who tells it."""
        while (frame := self._link.receive()) is not None:
            if frame.kind == frames.SIGNAL:
                number = int(frame.payload)
                self._kill() if number == signal.SIGKILL else self._worker.send_signal(number)
            elif frame.kind == frames.CONTROL:
                _write(self._control, frame.payload)
            elif frame.kind == frames.SOCKET and self._tunnel is not None:
                _write(self._tunnel, frame.payload)
        self._kill()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._worker.pid, signal.SIGKILL)
        end_marked(self._mark)


def _tunnel(numbers: list[int]) -> tuple[int | None, tuple[int, ...]]:
    """Return our end of the socket that the worker inherits under a number, and the worker's end."""
    if not numbers:
        return None, ()
    (number,) = numbers
    pair = socket.socketpair()
    ours, theirs = (fcntl.fcntl(one.detach(), fcntl.F_DUPFD_CLOEXEC, HIGH) for one in pair)
    os.closerange(3, HIGH)
    return ours, (os.dup2(theirs, number),)


def _write(descriptor: int, data: bytes) -> None:
    with contextlib.suppress(ConnectionError):
        while data:
            data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    main()
