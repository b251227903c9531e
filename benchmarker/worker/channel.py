"""The worker's end of its two pipes: events go out as JSON lines, and control comes in."""

from __future__ import annotations

import json
import os
import queue
import signal
import threading
from typing import Any


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
        threading.Thread(target=self._listen, name="lifeline", daemon=True).start()

    def send(self, event: str, **fields: Any) -> None:
        data = (json.dumps({"event": event, **fields}) + "\n").encode()
        while data:
            data = data[os.write(self._events, data) :]

    def wait_for(self, *messages: str) -> str:
        """Block until the orchestrator sends one of ``messages``, and return it."""
        while (message := self._messages.get()) not in messages:
            pass
        return message

    def _listen(self) -> None:
        pending = b""
        while True:
            data = os.read(self._control, 4096)
            if not data:
                os.killpg(os.getpgrp(), signal.SIGKILL)
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                self._messages.put(line.decode())
