"""The losses of a training as it goes on: read between samples, when the device has finished anyway."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

Loss = Callable[[Any], "float | None"]


class LossCurve:
    """Losses by timed steps and by time.

    Parameters
    ----------
    loss : callable
        Returns the loss that a step returned as a number, None if it is not finite.
    clock : callable
        Seconds, monotonic; they are counted from now on.
    """

    def __init__(self, loss: Loss, clock: Callable[[], float] = time.perf_counter) -> None:
        self._loss = loss
        self._clock = clock
        self._start = clock()
        self._steps: list[int] = []
        self._seconds: list[float] = []
        self._losses: list[float | None] = []

    def note(self, done: int, output: Any) -> None:
        """Note the loss of the last of ``done`` steps, once."""
        if self._steps and self._steps[-1] == done:
            return
        self._steps.append(done)
        self._seconds.append(round(self._clock() - self._start, 6))
        self._losses.append(self._loss(output))

    def to_json(self) -> dict[str, Any]:
        """Return ``steps``, ``seconds`` and ``losses``, one of each a reading."""
        return {"steps": self._steps, "seconds": self._seconds, "losses": self._losses}
