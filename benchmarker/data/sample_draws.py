"""Random numbers of one sample: by key and sample index alone, whichever mini-batch, process or rank asks for them.

Number ``n`` of a stream is SplitMix64's (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number
generators", figure 15): a mixture of ``key + n * 0x9E3779B97F4A7C15`` in 64 bits, which any of them may be asked
for by itself, and all of a mini-batch at once.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_PER_SAMPLE = np.uint64(1 << 10)
"""Numbers that a sample has of a stream."""


@dataclass(frozen=True)
class SampleDraws:
    """The streams of an epoch.

    Parameters
    ----------
    seed : int
        Of the run.
    epoch : int
        From 0.
    name : str
        Of what draws; each has a stream of its own.
    """

    seed: int
    epoch: int
    name: str

    def raw(self, indices: Array, number: int) -> Array:
        """Return a random 64-bit number of each sample.

        Parameters
        ----------
        indices : array ``(count,)``
            Of the samples in the data set, int64.
        number : int
            Which of the sample's numbers.

        Returns
        -------
        ndarray ``(count,)``
            uint64.
        """
        counters = np.asarray(indices).astype(np.uint64) * _PER_SAMPLE + np.uint64(number + 1)
        mixed = self._key() + counters * _GOLDEN
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
        found: Array = mixed ^ (mixed >> np.uint64(31))
        return found

    def below(self, indices: Array, number: int, bound: int) -> Array:
        """Return a whole number from 0, below ``bound``, of each sample: int64 ``(count,)``."""
        high = self.raw(indices, number) >> np.uint64(32)
        found: Array = (high * np.uint64(bound) >> np.uint64(32)).astype(np.int64)
        return found

    def uniform(self, indices: Array, number: int) -> Array:
        """Return a number above 0, below 1, of each sample: float64 ``(count,)``, an odd multiple of 2**-53."""
        high = self.raw(indices, number) >> np.uint64(12)
        found: Array = (high.astype(np.float64) * 2.0 + 1.0) * 2.0**-53
        return found

    def _key(self) -> Array:
        digest = hashlib.sha256(f"{self.seed}/{self.epoch}/{self.name}".encode()).digest()
        # An array, because NumPy warns where the arithmetic of single numbers comes around.
        return np.array([int.from_bytes(digest[:8], "little")], np.uint64)
