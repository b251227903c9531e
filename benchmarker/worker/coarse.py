"""Numbers rounded to the precisions that are coarser than float32, in float32 arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

FRACTION_BITS: Mapping[str, int] = {"tf32": 10, "fp16": 10, "bf16": 7}
"""Bits of fraction of each coarse precision; float32 has 23."""


def rounded(arrays: Mapping[str, Array], precision: str) -> dict[str, Array]:
    """Round to the nearest number with the precision's fraction, ties to even; whole numbers stay.

    The range stays that of float32: frameworks scale the loss where a precision has a smaller one.
    """
    if precision not in FRACTION_BITS:
        return dict(arrays)
    return {name: _rounded(array, FRACTION_BITS[precision]) for name, array in arrays.items()}


def _rounded(array: Array, bits: int) -> Array:
    if array.dtype != np.float32:
        return array
    dropped = np.uint32(23 - bits)
    words = np.ascontiguousarray(array).view(np.uint32)
    odd = (words >> dropped) & np.uint32(1)
    half = np.uint32((1 << (int(dropped) - 1)) - 1)
    return (((words + half + odd) >> dropped) << dropped).view(np.float32)
