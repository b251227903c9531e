"""The slowest of many ranks, each of which takes as long as a step that was measured at one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class StepTimes:
    """Times of single steps of one rank, from which those of others are drawn independently.

    Parameters
    ----------
    seconds : sequence of float
        At least one.
    steps_each : int
        Of whose steps each is the mean: of several, the slowest single ones are not known.
    """

    seconds: Sequence[float]
    steps_each: int = 1

    def mean_of_slowest(self, ranks: int) -> float:
        """Return the mean of the longest of ``ranks`` draws.

        The i-th of n values in order is the longest with probability (i / n) ** ranks - ((i - 1) / n) ** ranks.
        """
        ordered = np.sort(np.asarray(self.seconds, float))
        below = (np.arange(len(ordered) + 1) / len(ordered)) ** ranks
        return float(np.diff(below) @ ordered)

    def quantile_of_slowest(self, share: float, ranks: int) -> float:
        """Return what the longest of ``ranks`` draws is with probability ``share`` at most."""
        ordered = sorted(self.seconds)
        rank = math.ceil(share ** (1 / ranks) * len(ordered) - 1e-9)
        return float(ordered[max(rank, 1) - 1])

    @property
    def described(self) -> str:
        """What the values are, e.g. ``"20 measured steps"``."""
        count = len(self.seconds)
        return (
            f"{count} means of {self.steps_each} steps" if self.steps_each > 1 else f"{count} measured steps"
        )

    @property
    def max_ranks_known(self) -> int:
        """The most ranks whose slowest one is likely among the values: of more, the true one may be slower."""
        return len(self.seconds)
