"""The error function to about one unit in the last place, which neither NumPy nor Python has for arrays.

W. J. Cody 1969, "Rational Chebyshev approximations for the error function", Mathematics of Computation
23(107), 631-637: a rational function of ``x^2`` near 0, of ``x`` up to 4, and of ``1 / x^2`` beyond.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_SMALL, _MIDDLE, _ONE = 0.46875, 4.0, 6.0
"""Bounds of the approximations; from the last on, the function is 1 in float64."""
_BLOCK = 1 << 15
"""Elements at a time, so that intermediate values stay in the cache."""

# Numerator and denominator, highest power first.
_NEAR_0 = (
    (
        1.85777706184603153e-1,
        3.16112374387056560e0,
        1.13864154151050156e2,
        3.77485237685302021e2,
        3.20937758913846947e3,
    ),
    (
        1.0,
        2.36012909523441209e1,
        2.44024637934444173e2,
        1.28261652607737228e3,
        2.84423683343917062e3,
    ),
)
_UP_TO_4 = (
    (
        2.15311535474403846e-8,
        5.64188496988670089e-1,
        8.88314979438837594e0,
        6.61191906371416295e1,
        2.98635138197400131e2,
        8.81952221241769090e2,
        1.71204761263407058e3,
        2.05107837782607147e3,
        1.23033935479799725e3,
    ),
    (
        1.0,
        1.57449261107098347e1,
        1.17693950891312499e2,
        5.37181101862009858e2,
        1.62138957456669019e3,
        3.29079923573345963e3,
        4.36261909014324716e3,
        3.43936767414372164e3,
        1.23033935480374942e3,
    ),
)
_BEYOND = (
    (
        1.63153871373020978e-2,
        3.05326634961232344e-1,
        3.60344899949804439e-1,
        1.25781726111229246e-1,
        1.60837851487422766e-2,
        6.58749161529837803e-4,
    ),
    (
        1.0,
        2.56852019228982242e0,
        1.87295284992346725e0,
        5.27905102951428412e-1,
        6.05183413124413191e-2,
        2.33520497626869185e-3,
    ),
)


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: Array) -> Array:
    numerator, denominator = (np.polyval(np.array(polynomial), x) for polynomial in coefficients)
    result: Array = numerator / denominator
    return result


def _near_0(x: Array) -> Array:
    return x * _ratio(_NEAR_0, np.square(x))


def _up_to_4(x: Array) -> Array:
    size = np.abs(x)
    rest = np.exp(-np.square(size)) * _ratio(_UP_TO_4, size)
    return np.copysign((0.5 - rest) + 0.5, x)


def _beyond(x: Array) -> Array:
    size = np.minimum(np.abs(x), _ONE)
    inverse = 1.0 / np.square(size)
    share = (1.0 / math.sqrt(math.pi) - inverse * _ratio(_BEYOND, inverse)) / size
    return np.copysign(1.0 - np.exp(-np.square(size)) * share, x)


_PIECES: tuple[tuple[float, Callable[[Array], Array]], ...] = (
    (_SMALL, _near_0),
    (_MIDDLE, _up_to_4),
    (math.inf, _beyond),
)


def erf(x: Array) -> Array:
    """Return the error function of each element, computed in float64, in the type of ``x``."""
    flat = x.reshape(-1)
    result = np.empty(flat.shape, x.dtype)
    for start in range(0, flat.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        result[part] = _erf(flat[part].astype(np.float64))
    return result.reshape(x.shape)


def _erf(x: Array) -> Array:
    result = np.full_like(x, np.nan)
    size, above = np.abs(x), np.full(x.shape, True)
    for bound, piece in _PIECES:
        inside = above & (size <= bound)
        result[inside] = piece(x[inside])
        above &= ~inside
    return result
