"""The mini-batches of a training by number: split, sampler and augmentation together, the same bytes everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from benchmarker.data.augmentation import Augmentation, Augmenter, check_labels
from benchmarker.data.batch_inputs import BatchInputs
from benchmarker.data.samplers import Sampler, SamplerChoice, Sharded, order_digest
from benchmarker.data.splits import DEFAULT_SHARES, Split
from benchmarker.data.stored import StoredData
from benchmarker.errors import UsageError
from benchmarker.graph.types import Distribution
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]


@dataclass(frozen=True)
class FeedSpec:
    """All that decides the mini-batches of a training, as JSON has it.

    Parameters
    ----------
    folder : str
        Of the prepared data set.
    inputs : BatchInputs
        Of the problem.
    batch_size : int
        Samples in a mini-batch of this process.
    seed : int
        Of the run: order and augmentation.
    shares : mapping
        Share of each part.
    split_seed : int
        Of the split.
    part : str
        Whose samples are taken.
    sampler : mapping
        Name and options.
    augmentation : tuple of mapping
        Name and options of each step.
    drop_last : bool
        Whether what does not fill a mini-batch is left out of its epoch; else the last one is smaller, which only
        programs without a fixed shape can take.
    rank, ranks : int
        Which rows of the mini-batch of all processes together, whose size is ``ranks * batch_size``.
    """

    folder: str
    inputs: BatchInputs
    batch_size: int
    seed: int
    shares: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_SHARES))
    split_seed: int = 0
    part: str = "train"
    sampler: Mapping[str, Any] = field(default_factory=lambda: {"name": "shuffled"})
    augmentation: tuple[Mapping[str, Any], ...] = ()
    drop_last: bool = True
    rank: int = 0
    ranks: int = 1

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> FeedSpec:
        """Make one of what :meth:`to_json` gave, which may have been through JSON."""
        inputs = dict(values["inputs"])
        drawn = dict(inputs.pop("distribution"))
        distribution = Distribution(**{**drawn, "values": tuple(drawn["values"])})
        made = BatchInputs(**{**inputs, "shape": tuple(inputs["shape"])}, distribution=distribution)
        return cls(**{**values, "inputs": made, "augmentation": tuple(values["augmentation"])})

    def open(self) -> TrainingBatches:
        """Open the data set and return its mini-batches.

        Raises
        ------
        UsageError
            If split, sampler, augmentation or problem do not fit the data set.
        """
        data = StoredData.open(Path(self.folder))
        parts = data.split(self.shares, self.split_seed)
        return self.batches(data, parts)

    def batches(self, data: StoredData, parts: Split) -> TrainingBatches:
        """Return the mini-batches of a data set that is open and split already.

        Raises
        ------
        UsageError
            If sampler, augmentation or problem do not fit the data set.
        """
        indices, whole = parts.part(self.part), self.batch_size * self.ranks
        sampler = SamplerChoice.parse(self.sampler).make(indices, data.labels, self.seed, whole, data.lengths)
        if self.ranks > 1:
            sampler = Sharded(sampler, whole, self.rank, self.ranks)
        augmentation = Augmentation.parse(self.augmentation)
        augmenter = Augmenter(augmentation, data, parts.part("train"), self.inputs.distribution, self.seed)
        return TrainingBatches(
            augmenter, sampler, self.inputs, self.batch_size, drop_last=self.drop_last, spec=self
        )


class TrainingBatches:
    """Mini-batches by number, counted on through the epochs, so that a training goes on from any of them.

    Parameters
    ----------
    augmenter : Augmenter
        Of the data set.
    sampler : Sampler
        The order of each epoch; all epochs have as many samples.
    inputs : BatchInputs
        Of the problem.
    batch_size : int
        Samples in a mini-batch.
    drop_last : bool
        Whether what does not fill a mini-batch is left out of its epoch.
    spec : FeedSpec, optional
        Of which another process makes the same.

    Raises
    ------
    UsageError
        If the samples are not what the problem takes, or too few for a mini-batch.
    """

    def __init__(
        self,
        augmenter: Augmenter,
        sampler: Sampler,
        inputs: BatchInputs,
        batch_size: int,
        *,
        drop_last: bool = True,
        spec: Optional[FeedSpec] = None,
    ) -> None:
        check_labels(augmenter.augmentation, inputs.takes_weights, inputs.problem)
        inputs.check_shape(augmenter.sample_shape, augmenter.data)
        self.augmenter = augmenter
        self.sampler = sampler
        self.inputs = inputs
        self.batch_size = batch_size
        self.spec = spec
        self._orders: dict[int, Array] = {}
        count = len(self._order(0))
        if count < batch_size and (drop_last or not count):
            raise UsageError(
                f"data set '{augmenter.data.name}' has {count} samples to train on, too few for a mini-batch of "
                f"{batch_size}"
            )
        self.distinct = count // batch_size if drop_last else -(-count // batch_size)

    def epoch(self, number: int) -> int:
        """Return the epoch of a mini-batch, from 0."""
        return number // self.distinct

    def indices(self, number: int) -> Array:
        """Return the samples of a mini-batch: int64 indices into the data set."""
        epoch, position = divmod(number, self.distinct)
        return self._order(epoch)[position * self.batch_size : (position + 1) * self.batch_size]

    def batch(self, number: int) -> Arrays:
        """Return a mini-batch by the names of the problem's inputs."""
        return self.made(self.indices(number), self.epoch(number))

    def made(self, indices: Array, epoch: int) -> Arrays:
        """Return some samples as an epoch takes them."""
        samples, weights = self.augmenter.training(indices, epoch)
        data = self.augmenter.data
        return self.inputs.arrays(samples, data.labels[indices], weights, data.classes)

    def digests(self, count: int) -> dict[str, Any]:
        """Return the SHA-256 of the order of each epoch that ``count`` mini-batches reach into."""
        epochs = range(-(-count // self.distinct))
        return {"epochs": [order_digest(self.sampler, epoch) for epoch in epochs]}

    def _order(self, epoch: int) -> Array:
        if epoch not in self._orders:
            self._orders = {epoch: self.sampler.order(epoch)}
        return self._orders[epoch]
