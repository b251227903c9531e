"""The mini-batches of a run: from the seed, or from a data set in an order that the seed decides."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from benchmarker.graph.graph import Graph
from benchmarker.worker import values

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Arrays = dict[str, Array]


class Batches(Protocol):
    """Mini-batches by number, the same on every framework."""

    def batch(self, number: int) -> Arrays:
        """Return a mini-batch."""

    def digests(self, count: int) -> dict[str, Any]:
        """Return what identifies the first ``count`` mini-batches."""

    @property
    def distinct(self) -> int:
        """How many there are before they come around: an epoch's; one if they are drawn."""


@dataclass(frozen=True)
class SyntheticBatches:
    """Random mini-batches; the first is drawn from the seed itself, each further one from a name of its own."""

    graph: Graph
    seed: int

    def batch(self, number: int) -> Arrays:
        """Draw a mini-batch."""
        prefix = "batch" if number == 0 else f"batch{number}"
        return {
            i.name: values.draw(self.seed, f"{prefix}/{i.name}", i.type, i.distribution)
            for i in self.graph.inputs
        }

    def digests(self, count: int) -> dict[str, Any]:
        """There is no order to tell."""
        return {"epochs": []}

    @property
    def distinct(self) -> int:
        """A run on drawn values takes the same ones in every step."""
        return 1


class DatasetBatches:
    """Mini-batches of a prepared data set: every epoch in another order, what is left over is left out.

    Parameters
    ----------
    folder : Path
        Of the prepared data set.
    graph : Graph
        Whose inputs it feeds: the samples, and the labels in training.
    seed : int
        Decides the order.
    """

    def __init__(self, folder: Path, graph: Graph, seed: int) -> None:
        description = json.loads((folder / "description.json").read_text(encoding="utf-8"))
        self._samples = np.load(folder / "samples.npy", mmap_mode="r", allow_pickle=False)
        self._labels = np.load(folder / "labels.npy", allow_pickle=False)
        self._mean, self._deviation = description["mean"], description["deviation"]
        self._graph = graph
        self._seed = seed
        self._orders: dict[int, Array] = {}

    @property
    def distinct(self) -> int:
        """Number of whole mini-batches in an epoch."""
        return len(self._labels) // self._graph.batch_size

    def batch(self, number: int) -> Arrays:
        """Return a mini-batch; numbers go on through the epochs."""
        epoch, position = divmod(number, self.distinct)
        size = self._graph.batch_size
        chosen = self._order(epoch)[position * size : (position + 1) * size]
        sample, *labels = self._graph.inputs
        found = {sample.name: self._normalised(self._samples[chosen]).reshape(sample.type.shape)}
        found.update({label.name: self._labels[chosen] for label in labels})
        return found

    def digests(self, count: int) -> dict[str, Any]:
        """Return the SHA-256 of the order of each epoch that ``count`` mini-batches reach into."""
        epochs = range(-(-count // self.distinct))
        orders = (self._order(epoch).astype("<i8").tobytes() for epoch in epochs)
        return {"epochs": [f"sha256:{hashlib.sha256(order).hexdigest()}" for order in orders]}

    def _normalised(self, samples: Array) -> Array:
        if samples.dtype != np.uint8:
            return np.asarray(samples, np.float32)
        scaled = samples.astype(np.float32) / np.float32(255.0)
        normalised: Array = (scaled - np.float32(self._mean)) / np.float32(self._deviation)
        return normalised

    def _order(self, epoch: int) -> Array:
        if epoch not in self._orders:
            self._orders = {epoch: values.draw_order(self._seed, f"epoch/{epoch}", len(self._labels))}
        return self._orders[epoch]


def mini_batches(graph: Graph, seed: int, data: str | None) -> Batches:
    """Return the mini-batches of a run.

    Parameters
    ----------
    graph : Graph
        At the run's batch size.
    seed : int
        The run's seed.
    data : str or None
        Folder of a prepared data set; None for synthetic ones.
    """
    return SyntheticBatches(graph, seed) if data is None else DatasetBatches(Path(data), graph, seed)


RESIDENT_BYTES = 1 << 30
"""The most that mini-batches on the device may take together."""


class Feeding:
    """What each step takes, one after the other: mini-batches on the device, or such as the step brings there.

    Parameters
    ----------
    batches : Batches
        The mini-batches of the run.
    load : callable
        The program's.
    inputs : {"resident", "fed"}
        ``resident``: a data set's mini-batches are loaded beforehand, as many of an epoch as fit
        :data:`RESIDENT_BYTES`, and come around in that order; of synthetic ones there is one. ``fed``: the
        step itself loads each; what a data set's samples are made from is read before it.
    """

    def __init__(self, batches: Batches, load: Callable[[Arrays], Any], inputs: str) -> None:
        self._batches = batches
        self._load = load
        self.fed = inputs == "fed"
        self.taken = 0
        self.first = batches.batch(0)
        self.native_first = load(self.first)
        self._pool = [] if self.fed else self._resident()

    def _resident(self) -> list[Any]:
        size = sum(array.nbytes for array in self.first.values())
        count = min(self._batches.distinct, max(1, RESIDENT_BYTES // max(1, size)))
        return [self.native_first, *(self._load(self._batches.batch(n)) for n in range(1, count))]

    @property
    def distinct(self) -> int:
        """Number of different mini-batches that steps take."""
        return self._batches.distinct if self.fed else len(self._pool)

    def __call__(self) -> Any:
        """Return what the next step takes."""
        number = self.taken
        self.taken += 1
        if self._pool:
            return self._pool[number % len(self._pool)]
        return self.first if self._batches.distinct == 1 else self._batches.batch(number)

    def step(self, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return the step as it takes what this yields."""
        if not self.fed:
            return step
        load = self._load

        def load_and_step(batch: Arrays) -> Any:
            return step(load(batch))

        return load_and_step

    def digests(self) -> dict[str, Any]:
        """Return the order of each epoch that the steps so far have reached into."""
        return self._batches.digests(min(self.taken, self.distinct) if self._pool else self.taken)
