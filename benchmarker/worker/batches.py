"""Which mini-batches a job takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Union

from benchmarker.graph.graph import Graph
from benchmarker.worker.job import ReferenceJob, RunJob

if TYPE_CHECKING:
    from benchmarker.data.batches import Batches


def batches_of(job: Union[RunJob, ReferenceJob], graph: Graph) -> Batches:
    """Return the mini-batches of a job: those that its recipe trains on, else those of any run."""
    if job.training is None:
        from benchmarker.data.batches import mini_batches

        return mini_batches(graph, job.seed, job.data)
    # Imported here: a run without a recipe needs none of it.
    from benchmarker.training.fields import made
    from benchmarker.training.recipe import Training
    from benchmarker.worker.training.data import TrainingData

    training = made(Training, job.training, "the recipe")
    return TrainingData.open(Path(str(job.data)), graph, training, job.seed).train
