"""Evaluation over every sample of a part: mini-batches of one shape, whole numbers, sums that are divided once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.data.augmentation import Augmenter
from benchmarker.data.batch_inputs import BatchInputs
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]


@dataclass(frozen=True, eq=False)
class EvaluationBatch:
    """A mini-batch that is always full, of which the first ``count`` samples count; copies of samples fill the rest.

    Parameters
    ----------
    arrays : dict
        The graph's inputs, ``(batch_size, ...)`` each.
    labels : array ``(batch_size,)``
        int64 class indices.
    count : int
        Samples that count.
    """

    arrays: Arrays
    labels: Array
    count: int

    @property
    def mask(self) -> Array:
        """Whether each sample counts: bool ``(batch_size,)``."""
        return np.arange(len(self.labels)) < self.count


@dataclass(frozen=True, eq=False)
class EvaluationBatches:
    """Every sample of a part once, in its order, without what is random in augmentation.

    The last mini-batch is filled by the samples of it over and over, so that all have one shape and nothing is
    compiled or allocated for another.

    Parameters
    ----------
    augmenter : Augmenter
        Of the data set.
    indices : array ``(count,)``
        Of the part, int64.
    inputs : BatchInputs
        Of the problem.
    batch_size : int
        Samples in a mini-batch.
    """

    augmenter: Augmenter
    indices: Array
    inputs: BatchInputs
    batch_size: int

    def __len__(self) -> int:
        return -(-len(self.indices) // self.batch_size)

    def __getitem__(self, number: int) -> EvaluationBatch:
        if not 0 <= number < len(self):
            raise IndexError(number)
        own = self.indices[number * self.batch_size : (number + 1) * self.batch_size]
        filled = np.resize(own, self.batch_size)
        labels = self.augmenter.data.labels[filled]
        samples = self.augmenter.evaluation(filled)
        arrays = self.inputs.arrays(samples, labels, None, self.augmenter.data.classes)
        return EvaluationBatch(arrays, labels, len(own))

    def __iter__(self) -> Iterator[EvaluationBatch]:
        return (self[number] for number in range(len(self)))


@dataclass(frozen=True)
class Evaluation:
    """What was found of some samples; of more of them together it is the sum of two.

    Parameters
    ----------
    correct : int
        Labels that are predicted.
    total : int
        Labels.
    loss_sum : float
        Sum of ``-log softmax(scores)[label]`` over the labels, in nats; not a number if any score is none.
    """

    correct: int = 0
    total: int = 0
    loss_sum: float = 0.0

    def __add__(self, other: Evaluation) -> Evaluation:
        return Evaluation(
            self.correct + other.correct, self.total + other.total, self.loss_sum + other.loss_sum
        )

    @property
    def accuracy(self) -> float:
        """Share of the labels that are predicted: one division of whole numbers."""
        return self.correct / self.total

    @property
    def loss(self) -> float:
        """Mean over the labels, in nats."""
        return self.loss_sum / self.total


def evaluate_scores(scores: Array, labels: Array, mask: Array) -> Evaluation:
    """Count what is predicted rightly, and sum the loss, over the samples that count.

    Parameters
    ----------
    scores : array ``(count, classes, ...)``
        Before the softmax, of any floating-point type. The first of the largest is the prediction; scores that are
        not all numbers predict nothing.
    labels : array ``(count, ...)``
        int64 class indices.
    mask : array ``(count,)``
        Whether each sample counts.

    Returns
    -------
    Evaluation
        Computed in float64.
    """
    exact = np.moveaxis(np.asarray(scores)[mask], 1, -1).astype(np.float64)
    wanted = labels[mask]
    are_numbers = ~np.isnan(exact).any(axis=-1)
    correct = int(np.count_nonzero((exact.argmax(axis=-1) == wanted) & are_numbers))
    with np.errstate(invalid="ignore", over="ignore"):
        shifted = exact - exact.max(axis=-1, keepdims=True, initial=-np.inf)
        own = np.take_along_axis(shifted, wanted[..., None], axis=-1)[..., 0]
        losses = np.log(np.exp(shifted).sum(axis=-1)) - own
    return Evaluation(correct, wanted.size, float(losses.sum()))
