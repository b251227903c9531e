"""Step times of which the truth is known: a log-normal between processes, correlated and with a tail within them."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

STEP = 0.01
"""The median step of the median process without a tail, in seconds."""
TAIL = 0.02
WITHIN = 0.02


def process_effects(draw: np.random.Generator, *shape: int, between: float = 0.01) -> Array:
    """Return logarithms of what makes a process faster or slower than others."""
    return between * draw.standard_normal(shape)


def steps(draw: np.random.Generator, effects: Array, count: int, *, correlation: float = 0.5) -> Array:
    """Return the times of ``count`` steps of each process, in seconds.

    The noise is a first-order autoregression; the tail makes a step at least a fifth slower.
    """
    shocks = WITHIN * draw.standard_normal((count, *effects.shape))
    noise = np.empty_like(shocks)
    noise[0] = shocks[0]
    for i in range(1, count):
        noise[i] = correlation * noise[i - 1] + math.sqrt(1 - correlation**2) * shocks[i]
    slow = draw.random(noise.shape) < TAIL
    noise += slow * (0.2 + draw.exponential(0.3, noise.shape))
    return STEP * np.exp(np.moveaxis(noise, 0, -1) + effects[..., None])


def true_median(effect: float = 0.0) -> float:
    """Return the median step of a process: half of all steps are below it, none of them of the tail."""
    return STEP * math.exp(effect + WITHIN * NormalDist().inv_cdf(0.5 / (1 - TAIL)))
