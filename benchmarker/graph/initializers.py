"""How parameters start: the distributions that the field uses, by the number of connections."""

from __future__ import annotations

import math

from benchmarker.graph.types import Distribution


def he_normal(fan: int) -> Distribution:
    """Normal with standard deviation ``sqrt(2 / fan)`` (He et al. 2015, arXiv 1502.01852, eq. 10)."""
    return Distribution("normal", math.sqrt(2.0 / fan))


def glorot_normal(fan_in: int, fan_out: int) -> Distribution:
    """Normal with variance ``2 / (fan_in + fan_out)`` (Glorot & Bengio 2010, AISTATS, eq. 12)."""
    return Distribution("normal", math.sqrt(2.0 / (fan_in + fan_out)))


def glorot_uniform(fan_in: int, fan_out: int) -> Distribution:
    """Uniform in ``±sqrt(6 / (fan_in + fan_out))`` (Glorot & Bengio 2010, AISTATS, eq. 16)."""
    return Distribution("uniform", math.sqrt(6.0 / (fan_in + fan_out)))


def inverse_sqrt_uniform(fan: int) -> Distribution:
    """Uniform in ``±1/sqrt(fan)``, the usual start of fully connected and recurrent layers."""
    return Distribution("uniform", 1.0 / math.sqrt(fan))


ZEROS = Distribution("constant", 0.0)
ONES = Distribution("constant", 1.0)
