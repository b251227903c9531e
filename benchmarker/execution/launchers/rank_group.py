"""Ranks that an engine starts together: each has its pipes here, as if it were a process of this machine."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
from collections.abc import Sequence

from benchmarker.api.launcher import WorkerCommand
from benchmarker.execution.launchers import frames
from benchmarker.execution.launchers.engine_client import EngineClient
from benchmarker.execution.launchers.event_loop import GRACE_SECONDS
from benchmarker.execution.launchers.worker_process import WorkerProcess

_CHUNK = 1 << 16


class RankGroup:
    """Takes apart what an engine's ranks say together, and tells each what is for it.

    Parameters
    ----------
    client : EngineClient
        The engine.
    incoming : sequence of int
        Descriptors that frames of the ranks come from: one for all, or one each.
    outgoing : sequence of int
        Descriptors that frames go to, by rank.
    commands : sequence of WorkerCommand
        One a rank.
    """

    def __init__(
        self,
        client: EngineClient,
        incoming: Sequence[int],
        outgoing: Sequence[int],
        commands: Sequence[WorkerCommand],
    ) -> None:
        self._client = client
        self._incoming, self._outgoing = incoming, outgoing
        self._writing = threading.Lock()
        self._stop, self._stopping = os.pipe()
        self._sources: dict[int, tuple[int, bytes]] = {}
        """What is passed on to ranks: descriptors, with whose they are and what comes from them."""
        self.ranks = [RankProcess(self, rank, command) for rank, command in enumerate(commands)]
        self._threads: list[threading.Thread] = []

    def begin(self) -> None:
        """Begin to pass on, once all ranks have their pipes."""
        for target in (self._listen, self._pass_on):
            self._threads.append(threading.Thread(target=target, name="ranks", daemon=True))
            self._threads[-1].start()

    def add_source(self, descriptor: int, rank: int, kind: bytes) -> None:
        """Have what comes from a descriptor, which stays its owner's, passed on to a rank."""
        self._sources[descriptor] = (rank, kind)

    def send(self, rank: int, kind: bytes, data: bytes) -> None:
        """Tell a rank something; what is told to one that is gone is dropped."""
        with self._writing, contextlib.suppress(OSError):
            for frame in frames.encode(rank, kind, data):
                while frame:
                    frame = frame[os.write(self._outgoing[rank], frame) :]

    def stop(self) -> int:
        """End the engine with all its ranks, and return its exit status."""
        return self._client.end()

    def close(self) -> None:
        """End the engine, if it is still there, and give back all descriptors."""
        all_left = all(rank.status is not None for rank in self.ranks)
        _ = self._client.leave() if all_left else self._client.end()
        os.close(self._stopping)
        for thread in self._threads:
            thread.join()
        os.close(self._stop)
        for rank in self.ranks:
            rank.close()

    def _listen(self) -> None:
        """Hand out what the ranks say, until all have ended or the engine has."""
        readers = {descriptor: frames.FrameReader() for descriptor in self._incoming}
        with selectors.DefaultSelector() as selector:
            for descriptor in readers:
                selector.register(descriptor, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select():
                    try:
                        data = os.read(key.fd, _CHUNK)
                        for frame in readers[key.fd].take(data):
                            self.ranks[frame.rank].hear(frame)
                    except (OSError, ValueError, IndexError) as error:
                        self.ranks[0].note(f"benchmarker: what arrived was not sent by the ranks: {error}\n")
                        data = b""
                    if not data:
                        selector.unregister(key.fd)
                        self._lose(key.fd)

    def _lose(self, descriptor: int) -> None:
        """End all ranks that nothing more can come from: the engine itself has ended, or is ended."""
        lost = self.ranks if len(self._incoming) == 1 else [self.ranks[self._incoming.index(descriptor)]]
        if any(rank.status is None for rank in lost):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._client.process.wait(GRACE_SECONDS)
            status = self._client.end()
            for rank in lost:
                rank.leave(status or 1)

    def _pass_on(self) -> None:
        """Pass on what is for ranks, until it is over."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._stop, selectors.EVENT_READ)
            for descriptor in self._sources:
                selector.register(descriptor, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fd == self._stop:
                        return
                    try:
                        data = os.read(key.fd, _CHUNK)
                    except OSError:
                        data = b""
                    if data:
                        self.send(*self._sources[key.fd], data)
                    else:
                        selector.unregister(key.fd)


class RankProcess(WorkerProcess):
    """A rank's process, wherever it is.

    Attributes
    ----------
    status : int or None
        Its exit status once it has ended, the engine's where that has ended it.
    """

    def __init__(self, group: RankGroup, rank: int, command: WorkerCommand) -> None:
        self.status: int | None = None
        self._group, self._rank = group, rank
        self._ended, self._ending = threading.Event(), threading.Lock()
        self._notice, self._noticing = os.pipe()
        self._sinks: dict[bytes, int] = {}
        self._own: list[int] = []
        self._log = command.log

    def connect(self, command: WorkerCommand, events: int, control: int) -> None:
        """Take the worker's ends of its pipes, and of the socket that it is to inherit, and open its log."""
        self._own = [os.dup(events), os.dup(control), *map(os.dup, command.descriptors)]
        log = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._sinks = {frames.EVENTS: self._own[0], frames.LOG: log}
        self._group.add_source(self._own[1], self._rank, frames.CONTROL)
        for descriptor in self._own[2:]:
            self._sinks[frames.SOCKET] = descriptor
            self._group.add_source(descriptor, self._rank, frames.SOCKET)
        self._own.append(log)

    def tell(self, kind: bytes, data: bytes) -> None:
        """Send the rank something."""
        self._group.send(self._rank, kind, data)

    def hear(self, frame: frames.Frame) -> None:
        """Take what the rank has sent."""
        if frame.kind == frames.EXIT:
            self.leave(int(frame.payload))
            return
        sink, data = self._sinks.get(frame.kind), frame.payload
        # Nobody reads any more who has heard enough.
        with contextlib.suppress(OSError):
            while sink is not None and data:
                data = data[os.write(sink, data) :]

    def note(self, text: str) -> None:
        """Add a line of ours to the rank's log."""
        with open(self._log, "a") as log:
            log.write(text)

    def leave(self, status: int) -> None:
        """Note that it has ended."""
        with self._ending:
            if self.status is not None:
                return
            self.status = status
        self._ended.set()
        os.close(self._noticing)  # which tells the event loop

    @property
    def notice(self) -> int:
        return self._notice

    def has_ended(self) -> bool:
        return True

    def wait(self, seconds: float) -> None:
        self._ended.wait(seconds)

    def send_signal(self, number: signal.Signals) -> None:
        if self.status is None:
            self.tell(frames.SIGNAL, str(int(number)).encode())

    def end(self) -> int:
        if self.status is None:
            self.send_signal(signal.SIGKILL)
            self._ended.wait(GRACE_SECONDS)
        if self.status is None:
            self.leave(self._group.stop() or -signal.SIGKILL)
        return self.status if self.status is not None else -signal.SIGKILL

    def close(self) -> None:
        """Give back its descriptors."""
        self.leave(-signal.SIGKILL)
        for descriptor in (self._notice, *self._own):
            os.close(descriptor)
