"""How long a proof may take: it must not cost more than a small share of the run that it proves."""

from __future__ import annotations

import time

MIN_SECONDS = 1.0
RUN_SHARE = 0.1


class Budget:
    """Seconds for what follows: a tenth of the run so far, and a second at least.

    Parameters
    ----------
    run_seconds : float
        What the run has taken up to now.
    least : float, optional
        Other seconds that it has at least.
    """

    def __init__(self, run_seconds: float, least: float | None = None) -> None:
        self._start = time.monotonic()
        self.seconds = max(MIN_SECONDS if least is None else least, RUN_SHARE * run_seconds)

    @property
    def used(self) -> float:
        return time.monotonic() - self._start

    @property
    def left(self) -> float:
        return max(0.0, self.seconds - self.used)

    def affords(self, seconds: float) -> bool:
        """Tell whether something that takes about so long still fits."""
        return seconds <= self.left
