"""Augmentation: what is done to a sample before it is fed, by (seed, epoch, sample index) alone.

So the mini-batch that a sample comes in, the rank that takes it and the process that makes it change none of its
bytes, and every framework gets the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.options import parse_options
from benchmarker.data.augmentation_steps import (
    Crop,
    Cutout,
    Flip,
    LabelSmoothing,
    Mixup,
    Normalize,
    Shift,
    Step,
)
from benchmarker.data.named_options import named_options
from benchmarker.data.resized_crop import RandomResizedCrop
from benchmarker.data.sample_draws import SampleDraws
from benchmarker.data.stored import StoredData, one_hot
from benchmarker.errors import UsageError, did_you_mean
from benchmarker.graph.types import Distribution
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

STEPS: Mapping[str, type[Step]] = {
    step.name: step
    for step in (Flip, Crop, RandomResizedCrop, Shift, Cutout, Normalize, Mixup, LabelSmoothing)
}
"""Every step by name."""


@dataclass(frozen=True)
class Augmentation:
    """A list of steps, done in their order.

    Parameters
    ----------
    steps : tuple of Step
        Of :data:`STEPS`.
    """

    steps: tuple[Step, ...] = ()

    @classmethod
    def parse(cls, items: Iterable[Any]) -> Augmentation:
        """Make one of names, or of mappings with ``name`` and options.

        Raises
        ------
        UsageError
            On what is no list, an unknown name or option, a value that an option does not take, or a step that stands
            twice where it makes no sense.
        """
        if isinstance(items, (str, Mapping)):
            raise UsageError(f"augmentation must be a list of steps, got {items!r}")
        steps = tuple(map(_parse_step, items))
        for once in (Normalize, Mixup, LabelSmoothing):
            if sum(isinstance(step, once) for step in steps) > 1:
                raise UsageError(f"augmentation '{once.name}' may appear in the list only once")
        return cls(steps)

    @property
    def soft_labels(self) -> bool:
        """Whether labels become weights of classes."""
        return any(isinstance(step, (Mixup, LabelSmoothing)) for step in self.steps)

    def describe(self) -> list[dict[str, Any]]:
        """Return each step's name and all of its options, of which :meth:`parse` makes the same again."""
        return [{"name": step.name, **asdict(step)} for step in self.steps]

    def shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a sample after all steps.

        Raises
        ------
        UsageError
            If a step cannot take what comes to it.
        """
        for step in self.steps:
            shape = step.shape(shape)
        return shape


def _parse_step(item: Any) -> Step:
    name, options = named_options(item, "step of augmentation")
    if name not in STEPS:
        raise UsageError(f"unknown augmentation '{name}'{did_you_mean(name, STEPS)}")
    as_text = {key: _list_as_text(value) for key, value in options.items()}
    step: Step = parse_options(STEPS[name], as_text, f"augmentation '{name}'")
    return step


def _list_as_text(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True)
class _Made:
    """Samples on their way through the steps.

    Parameters
    ----------
    samples : array ``(count, ...)``
        As stored; float32 from 0 to 1 once ``is_fraction``; as the problem takes them once ``is_final``.
    weights : array ``(count, classes)`` or None
        float32 weights of the classes, if any step makes such.
    """

    samples: Array
    weights: Array | None
    is_fraction: bool = False
    is_final: bool = False


@dataclass(frozen=True, eq=False)
class Augmenter:
    """An augmentation of one data set for one problem.

    Parameters
    ----------
    augmentation : Augmentation
        The steps.
    data : StoredData
        The data set.
    population : array ``(count,)``
        int64 indices of the training part: mixup takes partners of it, normalize its mean and deviation.
    distribution : Distribution
        Of the problem's input.
    seed : int
        Of the run.

    Raises
    ------
    UsageError
        If a step cannot take the data set's samples.
    """

    augmentation: Augmentation
    data: StoredData
    population: Array
    distribution: Distribution = Distribution("normal")
    seed: int = 0
    _centres: dict[int, tuple[Array, Array]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        as_stored = True
        for position, step in enumerate(self.augmentation.steps):
            step.check(self.data, as_stored)
            as_stored = as_stored and not isinstance(step, (Normalize, Mixup))
            if isinstance(step, Normalize):
                self._check_interval()
                self._centres[position] = step.centre(self.data, self.population)

    def _check_interval(self) -> None:
        if self.distribution.interval is not None:
            low, high = self.distribution.interval
            raise UsageError(
                f"augmentation 'normalize' moves values out of the interval from {low:g} to {high:g} that the problem "
                "draws its samples from; leave it out"
            )

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Shape of a sample after all steps."""
        return self.augmentation.shape(self.data.samples.shape[1:])

    def training(self, indices: Array, epoch: int) -> tuple[Array, Array | None]:
        """Return samples as an epoch of training takes them.

        Parameters
        ----------
        indices : array ``(count,)``
            Of the samples in the data set, int64.
        epoch : int
            From 0.

        Returns
        -------
        ndarray ``(count, ...)``
            float32, as the problem takes them; int64 for symbols that it takes by number.
        ndarray ``(count, classes)`` or None
            float32 weights of the classes if the steps make such, else the labels stay class indices.
        """
        made = self._finished(self._after(len(self.augmentation.steps), indices, epoch))
        return made.samples, made.weights

    def evaluation(self, indices: Array) -> Array:
        """Return samples as evaluation takes them: without what is random, whose crops are from the centre."""
        made = _Made(self.data.samples[indices], None)
        for position, step in enumerate(self.augmentation.steps):
            if isinstance(step, Normalize):
                made = self._normalized(position, made)
            else:
                made = _with_samples(made, step.evaluated(made.samples))
        return self._finished(made).samples

    def _after(self, count: int, indices: Array, epoch: int) -> _Made:
        """Return samples after the first ``count`` steps; those of a partner in mixup go the same way."""
        weights = None
        if self.augmentation.soft_labels:
            weights = one_hot(self.data.labels[indices], self.data.classes)
        made = _Made(self.data.samples[indices], weights)
        for position, step in enumerate(self.augmentation.steps[:count]):
            draws = SampleDraws(self.seed, epoch, f"augmentation/{position}/{step.name}")
            if isinstance(step, Normalize):
                made = self._normalized(position, made)
            elif isinstance(step, Mixup):
                partners = self.population[draws.below(indices, 0, len(self.population))]
                made = self._mixed(step, made, self._after(position, partners, epoch), draws, indices)
            elif isinstance(step, LabelSmoothing):
                assert made.weights is not None
                smoothed = step.smoothed(made.weights)
                made = _Made(made.samples, smoothed, made.is_fraction, made.is_final)
            else:
                made = _with_samples(made, step.apply(made.samples, indices, draws))
        return made

    def _mixed(self, step: Mixup, own: _Made, other: _Made, draws: SampleDraws, indices: Array) -> _Made:
        own, other = self._as_fraction(own), self._as_fraction(other)
        shares = step.shares(draws, indices)
        assert own.weights is not None
        assert other.weights is not None
        samples = _blend(shares, own.samples, other.samples)
        return _Made(samples, _blend(shares, own.weights, other.weights), True, own.is_final)

    def _normalized(self, position: int, made: _Made) -> _Made:
        mean, deviation = self._centres[position]
        samples = (self._as_fraction(made).samples - mean) / deviation
        return _Made(samples, made.weights, True, True)

    def _as_fraction(self, made: _Made) -> _Made:
        if made.is_fraction:
            return made
        return _Made(self.data.fractions(made.samples), made.weights, True, made.is_final)

    def _finished(self, made: _Made) -> _Made:
        if made.is_final:
            return made
        if self.data.symbols is not None:
            return _with_samples(made, self.data.scaled(made.samples, self.distribution))
        fractions = self._as_fraction(made).samples
        return _with_samples(made, self.data.scaled_fractions(fractions, self.distribution))


def _with_samples(made: _Made, samples: Array) -> _Made:
    return _Made(samples, made.weights, made.is_fraction, made.is_final)


def _blend(shares: Array, first: Array, second: Array) -> Array:
    """Return ``share * first + (1 - share) * second``, a share a row, in float32."""
    column = shares.reshape(-1, *[1] * (first.ndim - 1))
    found: Array = first * column.astype(np.float32) + second * (1.0 - column).astype(np.float32)
    return found


def check_labels(augmentation: Augmentation, takes_weights: bool, problem: str) -> None:
    """Refuse an augmentation that makes weights of classes for a problem that takes class indices.

    Raises
    ------
    UsageError
        With what the problem must have.
    """
    if augmentation.soft_labels and not takes_weights:
        name = next(s.name for s in augmentation.steps if isinstance(s, (Mixup, LabelSmoothing)))
        raise UsageError(
            f"augmentation '{name}' turns labels into class weights, but problem '{problem}' takes class indices: "
            "its label must be a float32 input (classes,), and its loss the mean of -sum(label * log_softmax(scores))"
        )
