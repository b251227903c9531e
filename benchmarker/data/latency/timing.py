"""Timing mini-batches that are read anew each time: from storage (cold) and from the kernel's cache (warm)."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from benchmarker.data.page_cache import drop
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

COLD, WARM = "cold", "warm"
Numbers = Sequence[int]
Clock = Callable[[], float]


@dataclass(frozen=True)
class TimedBatches:
    """Times of mini-batches.

    Parameters
    ----------
    cache : {"cold", "warm"}
        Whether the pages of their files were dropped before.
    seconds : tuple of float
        Of each mini-batch.
    kept : str or None
        Why pages could not be dropped, so that what is called cold is not; None if they were.
    """

    cache: str
    seconds: tuple[float, ...]
    kept: Optional[str] = None


def time_batches(
    read: Callable[[Numbers], object],
    files: Callable[[Numbers], Sequence[Path]],
    batches: Sequence[Numbers],
    repeats: int,
    clock: Clock = time.perf_counter,
) -> Iterator[TimedBatches]:
    """Time mini-batches cold, then warm.

    Parameters
    ----------
    read : callable
        Reads the images of some numbers; what is timed.
    files : callable
        Returns the files that they lie in.
    batches : sequence
        The numbers of each mini-batch; they are read by turns, so that none is what a processor's caches still have.
    repeats : int
        How many are timed of each kind.
    clock : callable
        Returns seconds.

    Yields
    ------
    TimedBatches
        Cold, then warm.
    """
    for cache in (COLD, WARM):
        for numbers in batches if cache == WARM else batches[:1]:
            read(numbers)  # what a first call costs is no part of any mini-batch
        seconds: list[float] = []
        kept: Optional[str] = None
        for repeat in range(repeats):
            numbers = batches[repeat % len(batches)]
            if cache == COLD:
                reasons = [drop(path) for path in files(numbers)]
                kept = kept or next(filter(None, reasons), None)
            began = clock()
            read(numbers)
            seconds.append(clock() - began)
        yield TimedBatches(cache, tuple(seconds), kept)


# --- how formats lie in storage --------------------------------------------------------------------


def stored_files(folder: Path, format_: str, numbers: Numbers) -> list[Path]:
    """Return the files that some images lie in: one of all pixels, or one per image."""
    if format_ in ARRAYS:
        return [folder / f"samples.{format_}"]
    return [folder / f"{number}.{format_}" for number in numbers]


def read_npy(path: Path, numbers: Numbers) -> Array:
    """Return rows of a ``.npy`` file, which is mapped."""
    rows: Array = np.load(path, mmap_mode="r", allow_pickle=False)[list(numbers)]
    return rows


def read_idx(path: Path, numbers: Numbers) -> Array:
    """Return rows of an IDX file of unsigned bytes, which is mapped."""
    with path.open("rb") as file:
        rank = file.read(4)[3]
        shape = struct.unpack(f">{rank}I", file.read(4 * rank))
    rows: Array = np.memmap(path, np.uint8, "r", 4 + 4 * rank, shape)[list(numbers)]
    return np.asarray(rows)


ARRAYS: Mapping[str, Callable[[Path, Numbers], Array]] = {"npy": read_npy, "idx": read_idx}
"""Formats of one file of pixels, and how its rows are read."""


def read_images(
    folder: Path, format_: str, numbers: Numbers, size: int, decode: Optional[Callable[[bytes, int], Array]]
) -> Array:
    """Return some images as uint8 ``(count, 3, size, size)``.

    Parameters
    ----------
    folder : Path
        Where they lie.
    format_ : str
        In which format.
    numbers : sequence of int
        Which of them.
    size : int
        Pixels along both sides.
    decode : callable or None
        Returns the pixels of an encoded image, for formats that are encoded.
    """
    paths = stored_files(folder, format_, numbers)
    if format_ in ARRAYS:
        return ARRAYS[format_](paths[0], numbers)
    assert decode is not None
    images = np.empty((len(numbers), 3, size, size), np.uint8)
    for target, path in zip(images, paths):
        target[...] = decode(path.read_bytes(), size)
    return images
