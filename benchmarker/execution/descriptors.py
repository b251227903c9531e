"""Waiting for a descriptor of any number: ``select.select`` refuses those from 1024 on."""

from __future__ import annotations

import selectors
from typing import Protocol


class HasDescriptor(Protocol):
    """What has a file descriptor."""

    def fileno(self) -> int:
        """Return its number."""


def can_be_read(file: HasDescriptor, seconds: float) -> bool:
    """Tell whether there is something to be read within so many seconds."""
    with selectors.DefaultSelector() as selector:
        selector.register(file, selectors.EVENT_READ)
        return bool(selector.select(seconds))
