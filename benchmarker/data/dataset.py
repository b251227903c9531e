"""What a data set is, once read: arrays, and where they came from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.errors import UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


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
        float32 as they are, or uint8 pixels.
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

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Shape of one sample."""
        return self.samples.shape[1:]

    @property
    def digest(self) -> str:
        """SHA-256 of everything a run can see of it."""
        total = hashlib.sha256()
        for array in (self.samples, self.labels):
            total.update(f"{array.dtype.str} {array.shape}\n".encode())
            total.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
        total.update(f"{self.largest!r} {self.mean!r} {self.deviation!r}".encode())
        return f"sha256:{total.hexdigest()}"


def from_pixels(
    name: str,
    pixels: Array,
    labels: Array,
    classes: int,
    source: str,
    files: tuple[SourceFile, ...],
    largest: int = 255,
) -> Dataset:
    """Return a data set of uint8 images, with the mean and deviation of all their values.

    Raises
    ------
    UsageError
        If there are no pixels.
    """
    if not pixels.size:
        raise UsageError(f"data set '{name}' must have images, got an array of shape {pixels.shape}")
    scaled = pixels.reshape(-1).astype(np.float64) / largest
    return Dataset(
        name,
        pixels,
        labels.astype(np.int64),
        classes,
        source,
        files,
        largest,
        round(float(scaled.mean()), 6),
        round(float(scaled.std()), 6) or 1.0,
    )
