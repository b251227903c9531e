"""The worker's end of its two pipes: events go out as JSON lines, and control comes in."""

from __future__ import annotations

import json
import os
import queue
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

GATHERED = "gathered "
"""What the orchestrator's answer to a rank begins with; the values of all ranks follow as JSON."""

ALIVE_SECONDS = 30.0
"""How often one says that it is there that others might take for hung."""


class Channel:
    """Events out, control messages in; the process group ends when the orchestrator is gone.

    Parameters
    ----------
    events, control : int
        File descriptors.
    """

    def __init__(self, events: int, control: int) -> None:
        self._events = events
        self._control = control
        self._messages: queue.Queue[str] = queue.Queue()
        self._sending = threading.Lock()
        threading.Thread(target=self._listen, name="lifeline", daemon=True).start()

    def send(self, event: str, **fields: Any) -> None:
        data = (json.dumps({"event": event, **fields}) + "\n").encode()
        with self._sending:
            while data:
                data = data[os.write(self._events, data) :]

    @contextmanager
    def alive(self) -> Iterator[None]:
        """Say every so often that this rank is there, which else says nothing for long while others wait."""
        ended = threading.Event()

        def tell() -> None:
            while not ended.wait(ALIVE_SECONDS):
                self.send("alive")

        teller = threading.Thread(target=tell, name="alive", daemon=True)
        teller.start()
        try:
            yield
        finally:
            ended.set()
            teller.join()

    def wait_for(self, *messages: str) -> str:
        """Block until the orchestrator sends one of ``messages``, and return it."""
        while (message := self._messages.get()) not in messages:
            pass
        return message

    def gather(self, name: str, value: Any, *, everyone: bool = False) -> list[Any]:
        """Return what all ranks of a run say under a name, in their order, once each of them has said it.

        Parameters
        ----------
        name : str
            The same on all of them.
        value : object
            JSON, small.
        everyone : bool
            Whether a server says something too.
        """
        self.send("gather", name=name, value=value, everyone=everyone)
        while not (message := self._messages.get()).startswith(GATHERED):
            pass
        values: list[Any] = json.loads(message[len(GATHERED) :])
        return values

    def _listen(self) -> None:
        pending = b""
        while True:
            data = os.read(self._control, 4096)
            if not data:
                os.killpg(os.getpgrp(), signal.SIGKILL)
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                self._messages.put(line.decode())
