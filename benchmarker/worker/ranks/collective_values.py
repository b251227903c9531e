"""What ranks give to a collective, and what each must have of it: whole numbers, whose sums are exact in any order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.collective import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    POINT_TO_POINT,
    REDUCE_SCATTER,
    Collective,
    part_bounds,
)
from benchmarker.worker.verification.tolerances import EPSILON
from benchmarker.worker.verification.verdicts import TensorVerdict

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

BITS = 12
"""Of an element: sums over 1024 ranks need 22, and float32 has 24; bfloat16 has 8 and float16 11."""
CHUNK = 1 << 20
"""Elements that are compared at once."""


class Given:
    """The vectors of all ranks, each element told by itself.

    Parameters
    ----------
    seed : int
        Of the run.
    number : int
        Another one gives other vectors.
    """

    def __init__(self, seed: int, number: int = 0) -> None:
        self._start = (seed * 8 + number) << 40

    def part(self, rank: int, start: int, stop: int) -> npt.NDArray[np.float64]:
        """Return some elements of a rank's vector."""
        # SplitMix64 (Steele, Lea & Flood 2014) of a counter.
        first = (self._start + (rank << 33)) % 2**64
        mixed = np.arange(start, stop, dtype=np.uint64) + np.uint64(first)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(30)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(27)
        mixed *= np.uint64(0x94D049BB133111EB)
        found: npt.NDArray[np.float64] = (mixed >> np.uint64(64 - BITS)).astype(np.float64)
        found -= 2 ** (BITS - 1)
        return found

    def vector(self, rank: int, elements: int, dtype: Any) -> Array:
        """Return a rank's vector."""
        found = np.empty(elements, dtype)
        for start, stop in _chunks(0, elements):
            found[start:stop] = self.part(rank, start, stop)
        return found


def expected_parts(
    collective: Collective, given: Given, rank: int, ranks: int
) -> Iterator[npt.NDArray[np.float64]]:
    """Yield what a rank must have after a collective, in float64, piece by piece in its order."""
    elements = collective.elements
    own = part_bounds(elements, rank, ranks)
    whole = (0, collective.returned(rank, ranks))
    if collective.kind in (ALL_REDUCE, REDUCE_SCATTER):
        for start, stop in _chunks(*(own if collective.kind == REDUCE_SCATTER else whole)):
            yield np.sum([given.part(one, start, stop) for one in range(ranks)], axis=0)
        return
    sources: dict[str, list[tuple[int, tuple[int, int]]]] = {
        BROADCAST: [(0, whole)],
        POINT_TO_POINT: [(1 - rank, whole)],
        ALL_GATHER: [(one, (0, elements // ranks)) for one in range(ranks)],
        ALL_TO_ALL: [(one, own) for one in range(ranks)],
    }
    for source, bounds in sources[collective.kind]:
        for start, stop in _chunks(*bounds):
            yield given.part(source, start, stop)


def compare(collective: Collective, given: Given, found: Array, rank: int, ranks: int) -> TensorVerdict:
    """Return whether a rank has exactly what it must have."""
    wanted = collective.returned(rank, ranks)
    off, largest, squares, norm, place = 0.0, 1.0, 0.0, 0.0, 0
    flat = np.reshape(found, -1)
    for expected in expected_parts(collective, given, rank, ranks) if flat.size == wanted else ():
        difference = flat[place : place + expected.size] - expected
        off = np.maximum(off, np.max(np.abs(difference)))
        largest = max(largest, float(np.max(np.abs(expected))))
        squares += float(np.dot(difference, difference))
        norm += float(np.dot(expected, expected))
        place += expected.size
    right = place == wanted and bool(np.isfinite(off))
    worst = float(off) if right else float("inf")
    relative = worst / largest
    of_norm = float(np.sqrt(squares / max(norm, 1.0))) if right else float("inf")
    # Less than one unit of the last place of any element, so that nothing but the very number passes.
    tolerance = EPSILON["fp32"]
    return TensorVerdict(
        collective.kind,
        "output",
        wanted,
        min(flat.size, wanted),
        worst,
        relative,
        tolerance,
        of_norm,
        tolerance,
        relative <= tolerance,
    )


def _chunks(start: int, stop: int) -> Iterator[tuple[int, int]]:
    for first in range(start, stop, CHUNK):
        yield first, min(first + CHUNK, stop)
