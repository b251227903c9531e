"""What a launcher has of a process that works: its end, its signals, its process group."""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod


class WorkerProcess(ABC):
    """A process that works, and all that it starts in its process group."""

    @property
    @abstractmethod
    def notice(self) -> int:
        """A descriptor that becomes readable when :meth:`has_ended` has something to find out."""

    @abstractmethod
    def has_ended(self) -> bool:
        """Find out whether the process has ended; called when the notice is readable."""

    @abstractmethod
    def wait(self, seconds: float) -> None:
        """Return when the process has ended, or after so many seconds."""

    @abstractmethod
    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the process, if it is still there."""

    @abstractmethod
    def end(self) -> int:
        """End the process group at once, if it is still there, and return the process's exit status."""

    def is_stopped(self) -> bool:
        """Whether a signal has stopped the process; not where that is not told."""
        return False
