"""Zeros and norms of the spherical Bessel functions (Gasteiger et al. 2020, arXiv 2003.03123, equation 6)."""

from __future__ import annotations

import math
from collections.abc import Sequence

_HALVINGS = 100


def bessel_value(order: int, z: float) -> float:
    """Return the spherical Bessel function of an order at ``z``, which is not far below the order."""
    below, value = math.sin(z) / z, math.sin(z) / z**2 - math.cos(z) / z
    if order == 0:
        return below
    for n in range(1, order):
        below, value = value, (2 * n + 1) / z * value - below
    return value


def bessel_zeros(orders: int, count: int) -> list[list[float]]:
    """Return the first ``count`` positive zeros of each order from 0; those of one lie between those of the last."""
    found = [[math.pi * n for n in range(1, count + orders)]]
    for order in range(1, orders):
        ends = found[-1]
        found.append([_zero(order, low, high) for low, high in zip(ends, ends[1:])])
    return [zeros[:count] for zeros in found]


def bessel_norms(zeros: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the factor that gives each function between 0 and its zero the norm 1."""
    return [
        [math.sqrt(2.0) / abs(bessel_value(order + 1, zero)) for zero in row]
        for order, row in enumerate(zeros)
    ]


def _zero(order: int, low: float, high: float) -> float:
    is_positive = bessel_value(order, low) > 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if (bessel_value(order, middle) > 0.0) == is_positive:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0
