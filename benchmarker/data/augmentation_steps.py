"""The steps of augmentation, each by the random numbers of a sample; their rules are those of the papers named."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from benchmarker.api.rules import Choice, Real, Whole
from benchmarker.data.sample_draws import SampleDraws
from benchmarker.data.stored import StoredData
from benchmarker.errors import UsageError
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

_MAX_PIXELS = 4096
_CHUNK = 1024
"""Samples whose sums are taken at a time."""
_SHARE_STEPS = 1 << 16
_DIGITS = 6


@dataclass(frozen=True)
class Step(ABC):
    """Something that is done to samples; its fields are its options."""

    name: ClassVar[str]
    is_for_images: ClassVar[bool] = False
    is_for_labels: ClassVar[bool] = False

    def shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a sample after it.

        Raises
        ------
        UsageError
            If it cannot take such a sample.
        """
        return shape

    def check(self, data: StoredData, as_stored: bool) -> None:
        """Refuse a data set that it cannot take.

        Parameters
        ----------
        data : StoredData
            The data set.
        as_stored : bool
            Whether pixels come to it as they are stored.

        Raises
        ------
        UsageError
            With what is wrong.
        """
        shape = data.samples.shape[1:]
        if data.symbols is not None and not self.is_for_labels:
            raise UsageError(
                f"augmentation '{self.name}' is for numbers, but data set '{data.name}' has symbols"
            )
        if self.is_for_images and len(shape) != 3 and (data.largest is None or len(shape) != 2):
            raise UsageError(
                f"augmentation '{self.name}' is for images (channels, rows, columns), but data set '{data.name}' has "
                f"samples of shape {shape}"
            )

    @abstractmethod
    def apply(self, samples: Array, indices: Array, draws: SampleDraws) -> Array:
        """Return the samples ``(count, ...)`` after it; those that are given stay as they are.

        Parameters
        ----------
        samples : array ``(count, ...)``
            The samples.
        indices : array ``(count,)``
            Their indices in the data set, int64.
        draws : SampleDraws
            Their random numbers for this step and epoch.
        """

    def evaluated(self, samples: Array) -> Array:
        """Return what evaluation does in its place: nothing, where it is random."""
        return samples


@dataclass(frozen=True)
class OfImages(Step):
    """A step that is for images alone."""

    is_for_images: ClassVar[bool] = True


class Filling(OfImages):
    """A step that puts the value ``fill``, one of its options, where no pixel is."""

    fill: float

    def check(self, data: StoredData, as_stored: bool) -> None:
        """Refuse a data set that it cannot take, and a ``fill`` that is no pixel of it."""
        super().check(data, as_stored)
        fill, largest = self.fill, data.largest
        if as_stored and largest is not None and not (fill == math.floor(fill) and 0 <= fill <= largest):
            raise UsageError(
                f"augmentation '{self.name}': 'fill' must be a pixel of data set '{data.name}', a whole number from 0 "
                f"to {largest}, got {fill:g}"
            )


@dataclass(frozen=True)
class Flip(OfImages):
    """Mirror an image with a probability, from left to right or (``axis = "vertical"``) upside down."""

    name: ClassVar[str] = "flip"
    probability: Annotated[float, Real(least=0.0, most=1.0)] = 0.5
    axis: Annotated[str, Choice(("horizontal", "vertical"))] = "horizontal"

    def apply(self, samples: Array, indices: Array, draws: SampleDraws) -> Array:
        """Return the samples, some mirrored."""
        mirrored = samples[..., ::-1] if self.axis == "horizontal" else samples[..., ::-1, :]
        chosen = draws.uniform(indices, 0) < self.probability
        return np.where(chosen.reshape(-1, *[1] * (samples.ndim - 1)), mirrored, samples)


@dataclass(frozen=True)
class Crop(Filling):
    """Cut a square of ``size`` pixels (0: as large as the image) from an image with ``padding`` around it.

    He et al. 2016, arXiv 1512.03385, section 4.2, have padding 4 and size 32. Every place is equally likely;
    evaluation takes the centre of the image without padding.
    """

    name: ClassVar[str] = "crop"
    size: Annotated[int, Whole(0, _MAX_PIXELS)] = 0
    padding: Annotated[int, Whole(0, _MAX_PIXELS)] = 0
    fill: float = 0.0

    def __post_init__(self) -> None:
        if not self.size and not self.padding:
            raise UsageError("augmentation 'crop' needs 'size' or 'padding': without both it changes nothing")

    def shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a sample after it."""
        if self.size > min(shape[-2:]):
            raise UsageError(
                f"augmentation 'crop' cannot cut {self.size} x {self.size} from an image of {shape[-2]} x {shape[-1]}"
            )
        return (*shape[:-2], *self._target(shape))

    def apply(self, samples: Array, indices: Array, draws: SampleDraws) -> Array:
        """Return a window of each sample."""
        height, width = self._target(samples.shape)
        padded = _padded(samples, self.padding, self.fill)
        tops = draws.below(indices, 0, padded.shape[-2] - height + 1)
        lefts = draws.below(indices, 1, padded.shape[-1] - width + 1)
        return _windows(padded, tops, lefts, height, width)

    def evaluated(self, samples: Array) -> Array:
        """Return the centre of each sample."""
        height, width = self._target(samples.shape)
        top, left = (samples.shape[-2] - height) // 2, (samples.shape[-1] - width) // 2
        centre: Array = samples[..., top : top + height, left : left + width]
        return centre

    def _target(self, shape: tuple[int, ...]) -> tuple[int, int]:
        return (self.size, self.size) if self.size else (shape[-2], shape[-1])


@dataclass(frozen=True)
class Shift(Filling):
    """Move an image by up to ``pixels`` along both axes, every place equally likely; what comes in is ``fill``."""

    name: ClassVar[str] = "shift"
    pixels: Annotated[int, Whole(1, _MAX_PIXELS)] = 1
    fill: float = 0.0

    def apply(self, samples: Array, indices: Array, draws: SampleDraws) -> Array:
        """Return the samples, moved."""
        return Crop(padding=self.pixels, fill=self.fill).apply(samples, indices, draws)


@dataclass(frozen=True)
class Cutout(Filling):
    """Cover a square of ``size`` pixels with ``fill`` (DeVries & Taylor 2017, arXiv 1708.04552).

    Its centre is any pixel of the image, equally likely, so that it may reach beyond the border.
    """

    name: ClassVar[str] = "cutout"
    size: Annotated[int, Whole(1, _MAX_PIXELS)] = 8
    fill: float = 0.0

    def apply(self, samples: Array, indices: Array, draws: SampleDraws) -> Array:
        """Return the samples, each with a square covered."""
        covered = samples.copy()
        rows, columns = samples.shape[-2:]
        tops = draws.below(indices, 0, rows) - self.size // 2
        lefts = draws.below(indices, 1, columns) - self.size // 2
        for image, top, left in zip(covered, tops.tolist(), lefts.tolist()):
            image[..., max(top, 0) : max(top + self.size, 0), max(left, 0) : max(left + self.size, 0)] = (
                self.fill
            )
        return covered


@dataclass(frozen=True)
class Normalize(Step):
    """Subtract a mean and divide by a deviation; pixels are brought to the scale from 0 to 1 before.

    Without ``mean`` and ``deviation`` they are those of the training part, to six digits: of all its values, of
    each channel (the first axis of a sample), or of each feature (every element of a sample).
    """

    name: ClassVar[str] = "normalize"
    over: Annotated[str, Choice(("all", "channel", "feature"))] = "all"
    mean: str = ""
    deviation: str = ""

    def __post_init__(self) -> None:
        means, deviations = self._numbers("mean"), self._numbers("deviation")
        if len(means) != len(deviations):
            raise UsageError(
                "augmentation 'normalize' takes as many numbers in 'mean' as in 'deviation', got "
                f"{len(means)} and {len(deviations)}"
            )
        if any(number <= 0 for number in deviations):
            raise UsageError(
                "augmentation 'normalize': each 'deviation' must be above 0, got " + self.deviation
            )

    def _numbers(self, name: str) -> tuple[float, ...]:
        text = getattr(self, name)
        try:
            numbers = tuple(float(part) for part in text.split(",")) if text else ()
        except ValueError:
            numbers = (math.nan,)
        if not all(map(math.isfinite, numbers)):
            raise UsageError(
                f"augmentation 'normalize': '{name}' must be a number, or a list of one per channel, got '{text}'"
            )
        return numbers

    def check(self, data: StoredData, as_stored: bool) -> None:
        """Refuse a data set that it cannot take, and numbers for other channels than it has."""
        super().check(data, as_stored)
        channels = data.samples.shape[1]
        if len(self._numbers("mean")) not in (0, 1, channels):
            raise UsageError(
                f"augmentation 'normalize' has {len(self._numbers('mean'))} numbers in 'mean', but samples of data set "
                f"'{data.name}' have {channels} channels"
            )

    def centre(self, data: StoredData, population: Array) -> tuple[Array, Array]:
        """Return mean and deviation, float32, in a shape that broadcasts to samples ``(count, ...)``."""
        rank = data.samples.ndim
        if self.mean:
            shape = (1, -1, *[1] * (rank - 2))
            pair = (np.array(self._numbers(name), np.float32) for name in ("mean", "deviation"))
            mean, deviation = (numbers.reshape(shape if len(numbers) > 1 else [1] * rank) for numbers in pair)
            return mean, deviation
        averaged = {"all": tuple(range(rank)), "channel": (0, *range(2, rank)), "feature": (0,)}[self.over]
        return _mean_and_deviation(data, population, averaged)

    def apply(self, samples: Array, indices: Array, draws: SampleDraws) -> Array:
        """It needs the mean and deviation of a data set, so :class:`Augmenter` does it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Mixup(Step):
    """Mix a sample and its label with those of another (Zhang et al. 2018, arXiv 1710.09412).

    The other is drawn from the training part and comes as the steps before make it in this epoch. The share of
    the first is drawn from Beta(alpha, alpha) by Jöhnk's method, in steps of 2**-16.
    """

    name: ClassVar[str] = "mixup"
    alpha: Annotated[float, Real(least=0.1, most=2.0)] = 0.2

    def shares(self, draws: SampleDraws, indices: Array) -> Array:
        """Return the share of each sample in its mixture: float64 ``(count,)``."""
        found = np.zeros(len(indices))
        open_ = np.arange(len(indices))
        attempt = 0
        while len(open_):
            first, second = (self._powers(draws.uniform(indices[open_], 1 + 2 * attempt + k)) for k in (0, 1))
            total = first + second
            accepted = total <= 1.0
            found[open_[accepted]] = first[accepted] / total[accepted]
            open_ = open_[~accepted]
            attempt += 1
        # A last digit in which C libraries differ is lost in the step.
        rounded: Array = np.floor(found * _SHARE_STEPS + 0.5) / _SHARE_STEPS
        return rounded

    def _powers(self, numbers: Array) -> Array:
        # One by one: vector units have powers of their own.
        return np.array([math.pow(number, 1.0 / self.alpha) for number in numbers.tolist()])

    def apply(self, samples: Array, indices: Array, draws: SampleDraws) -> Array:
        """It needs other samples and labels, so :class:`Augmenter` does it."""
        raise NotImplementedError


@dataclass(frozen=True)
class LabelSmoothing(Step):
    """Give every class a part of the weight of a label (Szegedy et al. 2016, arXiv 1512.00567, section 7).

    ``(1 - epsilon) * weight + epsilon / classes``.
    """

    name: ClassVar[str] = "label_smoothing"
    is_for_labels: ClassVar[bool] = True
    epsilon: Annotated[float, Real(least=0.0, below=1.0)] = 0.1

    def smoothed(self, weights: Array) -> Array:
        """Return the weights ``(count, classes)`` after it, float32."""
        even = np.float32(self.epsilon / weights.shape[1])
        found: Array = weights * np.float32(1.0 - self.epsilon) + even
        return found

    def apply(self, samples: Array, indices: Array, draws: SampleDraws) -> Array:
        """Return the samples as they are: it is for labels."""
        return samples


def _padded(samples: Array, padding: int, fill: float) -> Array:
    around = [(0, 0)] * (samples.ndim - 2) + [(padding, padding)] * 2
    return np.pad(samples, around, constant_values=fill) if padding else samples


def _windows(samples: Array, tops: Array, lefts: Array, height: int, width: int) -> Array:
    found = np.empty((*samples.shape[:-2], height, width), samples.dtype)
    for target, sample, top, left in zip(found, samples, tops.tolist(), lefts.tolist()):
        target[...] = sample[..., top : top + height, left : left + width]
    return found


def _mean_and_deviation(data: StoredData, population: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Return mean and deviation over axes: of pixels from whole numbers, which are exact, else in float64."""
    kind = np.int64 if data.largest is not None else np.float64
    total: Any = 0
    for start in range(0, len(population), _CHUNK):
        total = total + data.samples[population[start : start + _CHUNK]].astype(kind).sum(axes, keepdims=True)
    elements = len(population) * math.prod(data.samples.shape[axis] for axis in axes if axis)
    mean = total / elements
    squares: Any = 0
    for start in range(0, len(population), _CHUNK):
        chunk = data.samples[population[start : start + _CHUNK]].astype(np.float64)
        squares = squares + np.square(chunk - mean).sum(axes, keepdims=True)
    deviation = np.sqrt(squares / elements)
    scale = data.largest or 1
    return _six_digits(mean / scale), _six_digits(np.where(deviation > 0, deviation / scale, 1.0))


def _six_digits(numbers: Array) -> Array:
    """Return float32 numbers of six digits, in which the order of a sum does not show."""
    short = [float(f"{number:.{_DIGITS}g}") for number in numbers.reshape(-1).tolist()]
    return np.array(short, np.float32).reshape(numbers.shape)
