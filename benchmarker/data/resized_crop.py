"""Windows of random area and shape, scaled to one size: bilinear, in whole numbers where pixels are whole."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from benchmarker.api.rules import Real, Whole
from benchmarker.data.augmentation_steps import Crop, OfImages
from benchmarker.data.sample_draws import SampleDraws
from benchmarker.errors import UsageError
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_MAX_PIXELS = 4096
_ATTEMPTS = 10


@dataclass(frozen=True)
class RandomResizedCrop(OfImages):
    """Cut a window of random area and shape, and scale it to ``size`` (Szegedy et al. 2014, arXiv 1409.4842, sec. 6).

    Its area is a share of the image's, even from ``least_area`` to 1, and width over height is even in its logarithm
    from ``3/4`` to ``4/3``; every place of it is equally likely. Of ten windows the first that fits is taken, else the
    largest square in the middle. Scaled bilinearly, pixel centres at halves; evaluation takes the unscaled centre.
    """

    name: ClassVar[str] = "random_resized_crop"
    size: Annotated[int, Whole(1, _MAX_PIXELS)] = 224
    least_area: Annotated[float, Real(above=0.0, most=1.0)] = 0.08

    def shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a sample after it."""
        if self.size > min(shape[-2:]):
            raise UsageError(
                f"augmentation '{self.name}': 'size' must be at most that of the image, because evaluation takes its "
                f"centre, got {self.size} of {shape[-2]} x {shape[-1]}"
            )
        return (*shape[:-2], self.size, self.size)

    def apply(self, samples: Array, indices: Array, draws: SampleDraws) -> Array:
        """Return a window of each sample, scaled."""
        found = np.empty((*samples.shape[:-2], self.size, self.size), samples.dtype)
        for target, sample, window in zip(found, samples, self.windows(samples.shape[-2:], indices, draws)):
            top, left, height, width = window
            target[...] = scaled(sample[..., top : top + height, left : left + width], self.size)
        return found

    def windows(
        self, shape: tuple[int, ...], indices: Array, draws: SampleDraws
    ) -> list[tuple[int, int, int, int]]:
        """Return top, left, height and width of the window of each sample of an image of some rows and columns."""
        rows, columns = shape
        numbers = np.stack([draws.uniform(indices, number) for number in range(4 * _ATTEMPTS)], axis=1)
        return [self._window(rows, columns, own) for own in numbers.tolist()]

    def _window(self, rows: int, columns: int, numbers: list[float]) -> tuple[int, int, int, int]:
        for attempt in range(_ATTEMPTS):
            area, shape, top, left = numbers[4 * attempt : 4 * attempt + 4]
            pixels = rows * columns * (self.least_area + (1.0 - self.least_area) * area)
            ratio = math.exp((2.0 * shape - 1.0) * math.log(4.0 / 3.0))
            width, height = round(math.sqrt(pixels * ratio)), round(math.sqrt(pixels / ratio))
            if 0 < width <= columns and 0 < height <= rows:
                return int(top * (rows - height + 1)), int(left * (columns - width + 1)), height, width
        side = min(rows, columns)
        return (rows - side) // 2, (columns - side) // 2, side, side

    def evaluated(self, samples: Array) -> Array:
        """Return the centre of each sample."""
        return Crop(size=self.size).evaluated(samples)


def scaled(image: Array, size: int) -> Array:
    """Return an image ``(..., rows, columns)`` bilinearly scaled to ``(..., size, size)``, in its own type.

    Whole numbers are interpolated in whole numbers, halves rounded up, so that all machines give the same ones.
    """
    whole = np.issubdtype(image.dtype, np.integer)
    (top, below, down), (left, right, across) = (_places(n, size) for n in image.shape[-2:])
    wide = image.astype(np.int64 if whole else np.float64)
    unit = 2 * size
    rows = wide[..., top, :] * (unit - down)[:, None] + wide[..., below, :] * down[:, None]
    total = rows[..., left] * (unit - across) + rows[..., right] * across
    found: Array = (2 * total + unit * unit) // (2 * unit * unit) if whole else total / (unit * unit)
    return found.astype(image.dtype)


def _places(pixels: int, size: int) -> tuple[Array, Array, Array]:
    """Return both neighbours of each new pixel along an axis, and the share of the second, in parts of ``2 size``."""
    unit = 2 * size
    centres = np.clip((2 * np.arange(size) + 1) * pixels - size, 0, (pixels - 1) * unit)
    first = centres // unit
    return first, np.minimum(first + 1, pixels - 1), centres - first * unit
