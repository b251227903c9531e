"""Momentum's ``v`` where a framework keeps ``-learning_rate * v``, which saves it a pass over memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.optimizer import Optimizer

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

MIN_RATE = 1e-20
"""What a rate of 0 is to the buffer, from which ``v`` could not be told again: no parameter of float32 moves by it."""


class FoldedVelocity:
    """The constants of ``b = momentum * b - rate * g; p += b``, which is momentum at a rate that may change.

    With ``b = -rate * v`` it computes ``v = mu * v + g; p -= rate * v`` at a constant rate. Where the rate
    changes, what was kept with the old one is scaled by the momentum of that one update, ``mu * new / old``.
    """

    def __init__(self) -> None:
        self.rate = 0.0
        """That of the buffer; 0 before the first update."""

    def change(self, optimizer: Optimizer) -> float:
        """Go on to the rate of the next update, and return by what the buffer grows with it."""
        kept, self.rate = self.rate, max(optimizer.learning_rate, MIN_RATE)
        return self.rate / kept if kept not in (0.0, self.rate) else 1.0

    def constants(self, optimizer: Optimizer) -> tuple[float, float]:
        """Return rate and momentum of the next update."""
        scale = self.change(optimizer)
        return self.rate, optimizer.momentum * scale

    def factor(self) -> float:
        """Return what the buffer is multiplied by to be ``v``."""
        return -1.0 / (self.rate or 1.0)

    def resume_from(self, optimizer: Optimizer, rate: float | None = None) -> None:
        """Have a buffer of this rate; without one of the rate of the updates before."""
        self.rate = max(optimizer.learning_rate, MIN_RATE) if rate is None else rate

    def velocity(self, buffer: Array) -> Array:
        """Return ``v`` of a buffer, in its floating type."""
        scaled: Array = (buffer.astype(np.float64) * self.factor()).astype(buffer.dtype)
        return scaled + 0.0  # no -0
