"""Our end of a worker's control pipe: whoever does not read it holds nobody up."""

from __future__ import annotations

import os


class ControlPipe:
    """Takes what a worker is told, and writes it as the worker reads.

    Parameters
    ----------
    descriptor : int
        The pipe's end, which stays its owner's.
    """

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._pending = b""

    def fileno(self) -> int:
        """Return the descriptor, which is writable when there is room."""
        return self._descriptor

    @property
    def is_waiting(self) -> bool:
        """Whether some of it did not fit into the pipe."""
        return bool(self._pending)

    def write(self, data: bytes) -> None:
        """Take more; what a worker is told that does not listen any more is dropped."""
        self._pending += data
        self.flush()

    def flush(self) -> None:
        """Write what the pipe has room for."""
        try:
            while self._pending:
                self._pending = self._pending[os.write(self._descriptor, self._pending) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._pending = b""
