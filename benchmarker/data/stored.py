"""A prepared data set as workers read it, and its samples as a problem takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from benchmarker.data.splits import Split, split, split_before_test, split_in_order
from benchmarker.graph.types import Distribution
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class StoredData:
    """A data set.

    Parameters
    ----------
    samples : array ``(count, ...)``
        float32 as they are, or uint8: pixels, or symbols by number.
    labels : array ``(count,)``
        int64 class indices.
    classes : int
        Number of classes.
    name : str
        For messages.
    largest : int or None
        What a pixel of full brightness is; None for samples that are no pixels.
    mean, deviation : float
        Of all pixels, on the scale from 0 to 1.
    lengths : array ``(count,)`` or None
        Of samples that are filled to one shape.
    symbols : int or None
        Number of different symbols, for samples that are numbers of them.
    sequential : bool
        Whether neighbours belong together, so that a split keeps the order.
    tested : int
        How many of the last samples are the published test set.
    """

    samples: Array
    labels: Array
    classes: int
    name: str = "data"
    largest: Optional[int] = None
    mean: float = 0.0
    deviation: float = 1.0
    lengths: Optional[Array] = None
    symbols: Optional[int] = None
    sequential: bool = False
    tested: int = 0

    @classmethod
    def open(cls, folder: Path) -> StoredData:
        """Open a prepared data set; samples are read when they are taken."""
        description = json.loads((folder / "description.json").read_text(encoding="utf-8"))
        lengths = folder / "lengths.npy"
        return cls(
            np.load(folder / "samples.npy", mmap_mode="r", allow_pickle=False),
            np.load(folder / "labels.npy", allow_pickle=False),
            description["classes"],
            description["name"],
            description["largest"],
            description["mean"],
            description["deviation"],
            np.load(lengths, allow_pickle=False) if lengths.is_file() else None,
            description.get("symbols"),
            description.get("sequential", False),
            description.get("tested", 0),
        )

    def split(self, shares: Mapping[str, float], seed: int = 0) -> Split:
        """Return its parts: of pieces of a text in their order, else every class by the shares.

        A published test set is the test part, however large; train and validation divide the rest by their shares.

        Raises
        ------
        UsageError
            If the shares are no shares, or leave a part without samples or a class.
        """
        if self.tested:
            return split_before_test(self.labels, self.trained, shares, seed)
        if self.sequential:
            return split_in_order(len(self.labels), shares)
        return split(self.labels, shares, seed)

    @property
    def trained(self) -> int:
        """Number of the first samples, which are no published test set."""
        return len(self.labels) - self.tested

    def scaled(self, samples: Array, distribution: Distribution) -> Array:
        """Return samples as a problem takes them.

        Parameters
        ----------
        samples : array ``(count, ...)``
            As they are stored.
        distribution : Distribution
            Of the problem's input. Pixels are scaled to the interval that it draws from, or become ``(value /
            largest - mean) / deviation``; symbols become one-hot where it draws such rows.
        """
        if self.symbols is not None:
            return (
                one_hot(samples, self.symbols) if distribution.kind == "one_hot" else samples.astype(np.int64)
            )
        if self.largest is None:
            return np.asarray(samples, np.float32)
        return self.scaled_fractions(self.fractions(samples), distribution)

    def scaled_fractions(self, samples: Array, distribution: Distribution) -> Array:
        """Return what :meth:`scaled` does of what :meth:`fractions` gives."""
        if self.largest is None:
            return samples
        if distribution.interval is not None:
            low, high = distribution.interval
            within: Array = samples * np.float32(high - low) + np.float32(low)
            return within
        standard: Array = (samples - np.float32(self.mean)) / np.float32(self.deviation)
        return standard

    def fractions(self, samples: Array) -> Array:
        """Return pixels as float32 from 0 to 1, other samples as they are."""
        if self.largest is None:
            return np.asarray(samples, np.float32)
        scaled: Array = samples.astype(np.float32) / np.float32(self.largest)
        return scaled


def one_hot(numbers: Array, classes: int) -> Array:
    """Return float32 rows ``(..., classes)`` with a single 1 each."""
    return np.eye(classes, dtype=np.float32)[numbers]
