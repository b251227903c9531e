"""Whether the same computation gives the same bits again, and if not, how much varies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class Variation:
    """What reruns change of a tensor. Memory for it is taken only once something changes.

    Parameters
    ----------
    first : ndarray
        What the first run gave.
    """

    def __init__(self, first: Array) -> None:
        self._first = first
        self._runs = 1
        self._sum: Array | None = None
        self._squares: Array | None = None
        self._varies: Array | None = None

    def note(self, again: Array) -> None:
        """Take what a rerun gave.

        Raises
        ------
        RuntimeError
            If it is of another shape or type.
        """
        if (again.shape, again.dtype) != (self._first.shape, self._first.dtype):
            raise RuntimeError(
                f"the framework returned {again.dtype} {again.shape} after {self._first.dtype} {self._first.shape}"
            )
        self._runs += 1
        changed = _bits(again) != _bits(self._first)
        if not changed.any():
            return
        if self._sum is None:
            self._sum, self._squares = np.zeros(changed.shape), np.zeros(changed.shape)
            self._varies = np.zeros(changed.shape, bool)
        # Differences from the first run are small, so their squares lose nothing.
        difference = again.reshape(-1).astype(np.float64) - self._first.reshape(-1)
        self._sum += difference
        self._squares += np.square(difference)
        self._varies |= changed

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as JSON values; a variance that is not finite is None."""
        if self._sum is None or self._squares is None or self._varies is None:
            return {"bitwise_equal": True, "varying_share": 0.0, "largest_variance": 0.0}
        spread = self._squares - np.square(self._sum) / self._runs
        largest = float(np.max(spread)) / (self._runs - 1)
        return {
            "bitwise_equal": False,
            "varying_share": float(np.mean(self._varies)),
            "largest_variance": max(0.0, largest) if np.isfinite(largest) else None,
        }


def _bits(array: Array) -> Array:
    """Return the bits of each element, in which not-a-number equals itself and 0 is not -0."""
    flat = np.ascontiguousarray(array).reshape(-1)
    bits: Array = flat.view(f"u{flat.dtype.itemsize}")
    return bits
