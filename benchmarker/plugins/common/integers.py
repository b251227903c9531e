"""Integers of a framework that keeps them in 32 bits, where a graph's have 64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.errors import UnsupportedError

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_RANGE = np.iinfo(np.int32)


def require_32_bits(parameters: Mapping[str, Array]) -> None:
    """Refuse parameters that hold integers of more than 32 bits: cut off, they would be others.

    Raises
    ------
    UnsupportedError
        If one does.
    """
    for name, array in parameters.items():
        if array.dtype.kind in "iu" and array.dtype.itemsize > 4 and array.size:
            for value in (array.min(), array.max()):
                if not _RANGE.min <= int(value) <= _RANGE.max:
                    raise UnsupportedError(
                        f"the framework computes integers in 32 bits, and '{name}' holds {value}"
                    )
