"""Who and where: the host's and the user's name, neither when the run is anonymous."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from benchmarker.experiment import RunSpec


@contextlib.contextmanager
def benchmarker_collect(run: RunSpec) -> Iterator[dict[str, Any]]:
    """Yield the names, or only that they were left out."""
    if run.anonymous:
        yield {"anonymous": True}
        return
    yield {"anonymous": False, "name": host_name(), "user": user_name()}


def host_name() -> str | None:
    """Return the host's name."""
    import socket

    try:
        return socket.gethostname() or None
    except OSError:
        return None


def user_name() -> str | None:
    """Return the user's name; ``None`` for a user identifier without an account, as in some containers."""
    import getpass

    try:
        return getpass.getuser() or None
    except (KeyError, OSError):
        return None
