"""Taking samples at regular times in a thread, within a budget of CPU time that is kept by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

GRACE_SECONDS = 1.0
"""The budget holds from here on; until then single samples weigh too much."""


class Sampler:
    """Calls a function every ``interval`` seconds until it is stopped.

    Parameters
    ----------
    take : callable
        Called with the number of intervals since the last call: usually 1, more when the thread was
        late or the budget made it slower. What it raises ends the sampling.
    interval : float
        Seconds between two calls.
    share : float
        CPU time of the thread over time, at most; where samples cost more, every second one is left
        out, then three of four, and so on.
    """

    def __init__(self, take: Callable[[int], None], interval: float, *, share: float = 1.0) -> None:
        self._take = take
        self._interval = interval
        self._share = share
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self.cpu_seconds = 0.0
        """CPU time of the thread."""
        self.every = 1
        """Intervals between two calls as the budget has them."""
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the sampling; raise what the function has raised."""
        self._stop.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._take_until_stopped()
        except BaseException as error:
            self._error = error

    def _take_until_stopped(self) -> None:
        started, done = time.monotonic(), 0
        while not self._stop.wait(
            max(0.0, started + (done + self.every) * self._interval - time.monotonic())
        ):
            elapsed = time.monotonic() - started
            ticks = int(elapsed / self._interval) - done
            if ticks == 0:
                continue
            self._take(ticks)
            done += ticks
            self.cpu_seconds = time.thread_time()
            if elapsed > GRACE_SECONDS and self.cpu_seconds > self._share * elapsed:
                self.every *= 2
