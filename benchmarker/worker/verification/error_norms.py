"""How far a tensor is from the same in float64: norms of its errors, the worst element, and where they lie."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.worker.verification.samples import TensorSample, sample_places, tensor_sample

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

NORMS: Mapping[str, float] = {"l1": 1, "l2": 2, "max": np.inf}
"""Vector norms by their order."""
MAP_SIZE = 32
"""Rows and columns that a map of differences has at most."""
_MAP_DIGITS = 3


def error_norms(name: str, found: Array, expected: TensorSample) -> dict[str, Any]:
    """Return the norms of the differences as JSON values; what is not finite is None.

    Parameters
    ----------
    name : str
        Of the tensor, which decides the elements of its sample.
    found : ndarray
        The whole tensor.
    expected : TensorSample
        Of the same tensor in float64.

    Returns
    -------
    dict
        For L1, L2 and the largest element: the norm of the differences and, relative, what it is of that of
        the expected values. Of compared elements alone.
    """
    values = tensor_sample(name, found).values
    differences = np.abs(values - expected.values)
    worst = int(np.argmax(np.where(np.isnan(differences), np.inf, differences)))
    norms: dict[str, Any] = {"compared": int(values.size)}
    for label, order in NORMS.items():
        absolute = float(np.linalg.norm(differences, order))
        whole = float(np.linalg.norm(expected.values, order))
        norms[f"{label}_absolute"] = _finite(absolute)
        norms[f"{label}_relative"] = _finite(absolute / whole) if whole else None
    place = np.unravel_index(_places(name, found.size)[worst], found.shape)
    return {
        **norms,
        "worst": {
            "index": [int(axis) for axis in place],
            "expected": _finite(float(expected.values[worst])),
            "found": _finite(float(values[worst])),
        },
    }


def difference_map(name: str, found: Array, expected: TensorSample) -> dict[str, Any]:
    """Return where the differences lie: a tensor as a matrix of its last axis by all others, in cells.

    Returns
    -------
    dict
        ``rows`` and ``columns`` of the matrix, and ``cells``: rows of the largest difference of each cell,
        relative to the largest expected element; None where no element was compared or it is not finite.
    """
    columns = found.shape[-1] if found.ndim else 1
    rows = found.size // columns
    cells = np.full((min(rows, MAP_SIZE), min(columns, MAP_SIZE)), -1.0)
    differences = np.abs(tensor_sample(name, found).values - expected.values)
    scale = float(np.max(np.abs(expected.values), initial=0.0)) or 1.0
    places = _places(name, found.size)
    row, column = places // columns * cells.shape[0] // rows, places % columns * cells.shape[1] // columns
    np.maximum.at(cells, (row, column), np.nan_to_num(differences / scale, nan=np.inf))
    return {"rows": rows, "columns": columns, "cells": [_as_json(line) for line in cells.tolist()]}


def _places(name: str, size: int) -> Array:
    """Return where in the flat tensor the elements of its sample stand."""
    places: Array = np.arange(size)[sample_places(name, size)]
    return places


def _as_json(line: Sequence[float]) -> list[float | None]:
    return [float(f"{x:.{_MAP_DIGITS}g}") if 0 <= x < math.inf else None for x in line]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
