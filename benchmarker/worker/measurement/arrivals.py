"""Poisson arrivals by seed: the same under every Python and NumPy."""

from __future__ import annotations

import math
import random
from array import array


def poisson_arrivals(seed: int, number: int, rate: float, count: int) -> array[int]:
    """Return when queries arrive, in nanoseconds from the start; the gaps between them are exponential.

    Parameters
    ----------
    seed : int
        The run's.
    number : int
        Of the trial: each has arrivals of its own.
    rate : float
        Queries per second in the mean. The same trial at another rate has the same arrivals, closer together.
    count : int
        How many.
    """
    # The generator's state follows from a text by SHA-512, which no version of Python may change.
    draw = random.Random(f"arrivals/{seed}/{number}").random
    times: array[int] = array("q")
    at = 0.0
    for _ in range(count):
        at -= math.log(1.0 - draw())
        times.append(round(at / rate * 1e9))
    return times
