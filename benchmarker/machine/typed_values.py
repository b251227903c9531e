"""JSON values as types, in any thread.

What msgspec knows of a type it finds when it first meets it, by running Python. A thread that met the type meanwhile
would take what is half found, and crash the process; what is raised meanwhile is dropped, an interruption too. So one
thread at a time has a type met, and interruptions wait.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import msgspec

from benchmarker.machine.interruptions import interruptions_later

_Kind = TypeVar("_Kind")
_MEETING = threading.RLock()
_DECODERS: dict[Any, Any] = {}
"""By the types that were met."""


def decoder(kind: type[_Kind]) -> msgspec.json.Decoder[_Kind]:
    """Return what reads a JSON text as a type."""
    made: msgspec.json.Decoder[_Kind] | None = _DECODERS.get(kind)
    if made is None:
        with _MEETING, interruptions_later():
            made = _DECODERS[kind] = msgspec.json.Decoder(kind)
    return made


def typed(value: object, kind: type[_Kind]) -> _Kind:
    """Return a JSON value as a type.

    Raises
    ------
    msgspec.ValidationError
        If it is something else.
    """
    decoder(kind)  # has the type met
    return msgspec.convert(value, kind)
