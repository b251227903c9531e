"""What arrives on an event pipe becomes events: in linear time and bounded memory, whatever it is."""

from __future__ import annotations

import json
from collections.abc import Iterator

from benchmarker.api.launcher import Event
from benchmarker.errors import ProtocolError

MAX_EVENT_BYTES = 64 << 20
"""The longest line; a million timed steps take half of it."""
MAX_EVENT_PARTS = 1 << 20
"""How many texts, lists and objects an event may have, each of which takes far more memory than its bytes."""
MAX_EVENT_ITEMS = 1 << 22
"""How many numbers or other items; a million timed steps have two million."""
MAX_BYTES = 1 << 30
"""All that a worker may send."""
MAX_UNREADABLE = 100_000
"""How many lines may be no events."""


class EventLines:
    """Takes bytes and gives the events among them.

    Attributes
    ----------
    unreadable : int
        How many lines were none.
    """

    def __init__(self) -> None:
        self.unreadable = 0
        self._pending = bytearray()
        self._total = 0

    def take(self, data: bytes) -> Iterator[Event]:
        """Yield the events that are whole now.

        Raises
        ------
        ProtocolError
            If there is too much of something.
        """
        self._total += len(data)
        if self._total > MAX_BYTES:
            raise ProtocolError(f"it sent more than {MAX_BYTES >> 20:,} MiB of events")
        first, *others = data.split(b"\n")
        self._pending += first
        if len(self._pending) > MAX_EVENT_BYTES:
            raise ProtocolError(f"it sent a line of more than {MAX_EVENT_BYTES >> 20:,} MiB as an event")
        for following in others:
            line, self._pending = bytes(self._pending), bytearray(following)
            event = parse(line)
            if event is not None:
                yield event
                continue
            self.unreadable += 1
            if self.unreadable > MAX_UNREADABLE:
                raise ProtocolError(f"it sent more than {MAX_UNREADABLE:,} lines that are not events")


def parse(line: bytes) -> Event | None:
    """Return the event that a line is; None if it is none.

    Raises
    ------
    ProtocolError
        If it is JSON that is not worth its memory.
    """
    if line.count(b"{") + line.count(b"[") + line.count(b'"') // 2 > MAX_EVENT_PARTS:
        raise ProtocolError(f"it sent an event of more than {MAX_EVENT_PARTS:,} parts")
    if line.count(b",") > MAX_EVENT_ITEMS:
        raise ProtocolError(f"it sent an event of more than {MAX_EVENT_ITEMS:,} items")
    try:
        event = json.loads(line.decode())
    except (json.JSONDecodeError, UnicodeDecodeError):
        return None
    except RecursionError:
        raise ProtocolError("it sent an event that is nested too deeply") from None
    except ValueError:  # Python reads no number of thousands of digits
        raise ProtocolError("it sent an event with a number of too many digits") from None
    is_event = isinstance(event, dict) and isinstance(event.get("event"), str)
    return event if is_event else None
