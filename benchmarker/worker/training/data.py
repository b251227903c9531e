"""The data of a training: the mini-batches that it steps through, and those that judge it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarker.data.batch_inputs import BatchInputs
from benchmarker.data.evaluation import EvaluationBatches
from benchmarker.data.samplers import ClassBias, class_bias
from benchmarker.data.splits import Split
from benchmarker.data.stored import StoredData
from benchmarker.data.training_batches import FeedSpec, TrainingBatches
from benchmarker.graph.graph import Graph
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.recipe import Training


@dataclass(frozen=True)
class TrainingData:
    """All data of a training.

    Parameters
    ----------
    training : Training
        The recipe's table.
    parts : Split
        Which samples are of which part.
    train : TrainingBatches
        The mini-batches of the steps, by number.
    evaluation : EvaluationBatches
        The part that is evaluated, every sample once.
    """

    training: Training
    parts: Split
    train: TrainingBatches
    evaluation: EvaluationBatches

    @staticmethod
    def open(folder: Path, graph: Graph, training: Training, seed: int) -> TrainingData:
        """Open the data of a recipe.

        Parameters
        ----------
        folder : Path
            Of the prepared data set.
        graph : Graph
            Whose inputs are fed.
        training : Training
            The recipe's table.
        seed : int
            Of the run.

        Raises
        ------
        UsageError
            If split, sampler, augmentation or problem do not fit the data set.
        """
        inputs = BatchInputs.of(graph)
        spec = FeedSpec(
            folder=str(folder),
            inputs=inputs,
            batch_size=graph.batch_size,
            seed=seed,
            shares=training.split.shares,
            split_seed=training.split.seed,
            sampler=training.sampler_table,
            augmentation=training.augmentation_tables,
        )
        data = StoredData.open(folder)
        parts = data.split(spec.shares, spec.split_seed)
        train = spec.batches(data, parts)
        judged = parts.part(training.target.split)
        return TrainingData(
            training, parts, train, EvaluationBatches(train.augmenter, judged, inputs, graph.batch_size)
        )

    @property
    def total(self) -> int:
        """Samples that are evaluated."""
        return len(self.evaluation.indices)

    def class_bias(self, steps: int) -> ClassBias:
        """Return which classes the first steps were given, against those of the part that is trained on."""
        data = self.train.augmenter.data
        epochs, rest = divmod(steps, self.train.distinct)
        taken = [self.train.sampler.order(epoch)[: self._whole] for epoch in range(epochs)]
        if rest:
            taken.append(self.train.sampler.order(epochs)[: rest * self.train.batch_size])
        return class_bias(data.labels[np.concatenate(taken)], data.labels[self.parts.train], data.classes)

    @property
    def _whole(self) -> int:
        return self.train.distinct * self.train.batch_size
