"""The data-set contract: what a data set is once it is read, and how the function that reads one is named."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from benchmarker.errors import UsageError
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


_CHUNK = 1 << 24
"""Pixels that are counted at a time."""


@dataclass(frozen=True)
class SourceFile:
    """A file that was read.

    Parameters
    ----------
    name : str
        Its name, without the folder.
    sha256 : str
        Of its bytes as they lie there.
    published : bool or None
        Whether that is the file its authors publish; None where they publish no checksum of it.
    """

    name: str
    sha256: str
    published: bool | None = None


@dataclass(frozen=True)
class Dataset:
    """Samples and labels.

    Parameters
    ----------
    name : str
        As ``--data`` names it.
    samples : array ``(count, ...)``
        float32 as they are, or uint8 pixels, or numbers of ``symbols``.
    labels : array ``(count,)``
        int64 class indices.
    classes : int
        Number of classes.
    source : str
        The paper or page it comes from.
    files : tuple of SourceFile
        What was read.
    largest : int or None
        What a pixel of full brightness is; None for samples that are no pixels. A problem whose samples
        are drawn from an interval gets pixels scaled to that interval, any other ``(value / largest -
        mean) / deviation``.
    mean, deviation : float
        Of all pixels, on the scale from 0 to 1.
    symbols : int or None
        Number of different symbols, for samples that are numbers of them (uint8, uint16 or int64), as of a text. A
        problem gets them one-hot or by number, whichever it takes.
    lengths : array ``(count,)`` or None
        Whole numbers, of samples that are filled to one shape.
    sequential : bool
        Whether samples that lie side by side belong together, as pieces of a text do: a split keeps their order.
    tested : int
        How many of the last samples are the test set that the authors publish: the test part of every split, and no
        part of runs without one.
    """

    name: str
    samples: Array
    labels: Array
    classes: int
    source: str
    files: tuple[SourceFile, ...]
    largest: int | None = None
    mean: float = 0.0
    deviation: float = 1.0
    symbols: int | None = None
    lengths: Array | None = None
    sequential: bool = False
    tested: int = 0

    @property
    def trained(self) -> int:
        """Number of the first samples, which are no published test set."""
        return len(self.labels) - self.tested

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Shape of one sample."""
        return self.samples.shape[1:]

    @property
    def digest(self) -> str:
        """SHA-256 of all that a mini-batch of training can have of it."""
        import hashlib

        import numpy as np

        total = hashlib.sha256()
        for array in (self.samples[: self.trained], self.labels[: self.trained]):
            total.update(f"{array.dtype.str} {array.shape}\n".encode())
            total.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
        total.update(f"{self.largest!r} {self.mean!r} {self.deviation!r}".encode())
        if self.symbols is not None or self.sequential:
            total.update(f" {self.symbols!r} {self.sequential!r}".encode())
        return f"sha256:{total.hexdigest()}"

    @property
    def test_digest(self) -> str | None:
        """SHA-256 of the published test set; None without one."""
        import hashlib

        import numpy as np

        if not self.tested:
            return None
        total = hashlib.sha256()
        for array in (self.samples[self.trained :], self.labels[self.trained :]):
            total.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
        return f"sha256:{total.hexdigest()}"


@dataclass(frozen=True)
class DatasetReader:
    """What reads a data set; itself the plugin of an entry point, or returned by ``benchmarker_dataset()``.

    Parameters
    ----------
    name : str
        The entry point's name, as ``--data`` takes it.
    description : str
        What it is and which files it is read from, in a line.
    implementation : str
        ``"module:function"``, imported only to read it. ``function(folder)`` takes the path of ``--data-dir``, or
        None, and returns a :class:`Dataset`. A :class:`~benchmarker.errors.UsageError` says what is wrong
        with the files.
    fingerprint : str
        ``"module:function"`` for what takes long to read. ``function(folder)`` returns a text that is another whenever
        what is read might be; what was kept under one is not read again.
    """

    name: str
    description: str
    implementation: str
    fingerprint: str = ""

    def benchmarker_dataset(self) -> DatasetReader:
        """Return itself."""
        return self


def from_pixels(
    name: str,
    pixels: Array,
    labels: Array,
    classes: int,
    source: str,
    files: tuple[SourceFile, ...],
    largest: int = 255,
    tested: int = 0,
) -> Dataset:
    """Return a data set of uint8 images, with the mean and deviation of the values of all that are not ``tested``.

    Parameters
    ----------
    name : str
        As ``--data`` names it.
    pixels : array ``(count, channels, height, width)`` or ``(count, height, width)``
        uint8, from 0 to ``largest``; those that are for testing last.
    labels : array ``(count,)``
        Class indices from 0.
    classes : int
        Number of classes.
    source : str
        Who has published it.
    files : tuple of SourceFile
        What it was read from.
    largest : int
        The value that becomes 1 before mean and deviation are applied.
    tested : int
        How many, at the end, are for testing.

    Raises
    ------
    UsageError
        If there are no pixels.
    """
    import numpy as np

    if not pixels.size:
        raise UsageError(f"data set '{name}' must have images, got an array of shape {pixels.shape}")
    mean, deviation = _mean_and_deviation(pixels[: len(pixels) - tested])
    return Dataset(
        name,
        pixels,
        labels.astype(np.int64),
        classes,
        source,
        files,
        largest,
        round(mean / largest, 6),
        round(deviation / largest, 6) or 1.0,
        tested=tested,
    )


def _mean_and_deviation(pixels: Array) -> tuple[float, float]:
    """Return both from how often each value occurs: in whole numbers, and without a larger copy of the pixels."""
    import numpy as np

    flat = pixels.reshape(-1)
    counts = sum(np.bincount(flat[i : i + _CHUNK], minlength=256) for i in range(0, flat.size, _CHUNK))
    often = [int(count) for count in np.asarray(counts)]
    count = sum(often)
    total = sum(value * times for value, times in enumerate(often))
    squares = sum(value * value * times for value, times in enumerate(often))
    return total / count, math.sqrt(count * squares - total * total) / count
