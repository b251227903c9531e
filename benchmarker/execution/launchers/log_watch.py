"""What a worker prints is bounded while it prints: the kernel tells that the log grows, and nobody looks otherwise."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from benchmarker.errors import ProtocolError

MAX_LOG_BYTES = 256 << 20
REST_SECONDS = 0.1
"""How long nobody listens after a look, so that one that prints all the time wakes us ten times a second at most."""
_MODIFIED = 2
_NOTICE_BYTES = 4096


class LogWatch:
    """Tells that a log has grown, by the kernel's ``inotify``.

    Parameters
    ----------
    log : Path
        The file.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self.descriptor = _watch(log)
        """Readable once the log has grown since the last look; None where the kernel does not tell."""

    def look(self) -> None:
        """See how large the log is, and wait for its next change.

        Raises
        ------
        ProtocolError
            If it is too large.
        """
        if self.descriptor is not None:
            with contextlib.suppress(BlockingIOError):
                os.read(self.descriptor, _NOTICE_BYTES)
        with contextlib.suppress(OSError):
            if self._log.stat().st_size > MAX_LOG_BYTES:
                raise ProtocolError(f"it printed more than {MAX_LOG_BYTES >> 20:,} MiB")

    def close(self) -> None:
        """Give back the descriptor."""
        if self.descriptor is not None:
            os.close(self.descriptor)


def _watch(log: Path) -> int | None:
    import ctypes  # once the worker has started, which waits for nobody

    library = ctypes.CDLL(None)
    if not hasattr(library, "inotify_init1"):
        return None
    descriptor: int = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        return None
    if library.inotify_add_watch(descriptor, os.fsencode(log), _MODIFIED) < 0:
        os.close(descriptor)
        return None
    return descriptor
