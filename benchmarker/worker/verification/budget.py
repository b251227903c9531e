"""How long a proof may take: it must not cost more than a small share of the run that it proves."""

from __future__ import annotations

import time
from collections.abc import Callable

MIN_SECONDS = 1.0
RUN_SHARE = 0.1


class Budget:
    """Seconds for what follows: a tenth of the run so far, and a second at least.

    Parameters
    ----------
    run_seconds : float
        What the run has taken up to now.
    clock : callable
        Seconds, monotonic.
    """

    def __init__(self, run_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = clock()
        self.seconds = max(MIN_SECONDS, RUN_SHARE * run_seconds)

    @property
    def used(self) -> float:
        return self._clock() - self._start

    @property
    def left(self) -> float:
        return max(0.0, self.seconds - self.used)

    def affords(self, seconds: float) -> bool:
        """Tell whether something that takes about so long still fits."""
        return seconds <= self.left
