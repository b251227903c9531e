"""The mini-batches of a run: from the seed, or from a data set in an order that the seed decides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from benchmarker.data import values
from benchmarker.data.batch_inputs import BatchInputs
from benchmarker.data.stored import StoredData
from benchmarker.graph.graph import Graph
from benchmarker.graph.types import Input

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


SYNTHETIC = 8
"""How many random mini-batches a run has, so that none stays in a cache from step to step."""
_ROTATED_ELEMENTS = 1 << 18
"""Inputs of independent numbers that are larger than this are drawn once and then rotated."""
_ROTATION = 104_729


class SyntheticBatches:
    """Random mini-batches; the first is drawn from the seed itself, each further one from a name of its own.

    Drawing large images takes longer than computing with them, so the elements of a large input whose
    elements are independent of each other are the first mini-batch's, rotated.
    """

    def __init__(self, graph: Graph, seed: int) -> None:
        self._graph = graph
        self._seed = seed
        self._first: Arrays = {}

    def batch(self, number: int) -> Arrays:
        return {declared.name: self._input(declared, number) for declared in self._graph.inputs}

    def _input(self, declared: Input, number: int) -> Array:
        name, prefix = declared.name, f"batch{number}" if number else "batch"
        if not _can_be_rotated(declared):
            return values.draw(self._seed, f"{prefix}/{name}", declared.type, declared.distribution)
        if name not in self._first:
            self._first[name] = values.draw(self._seed, f"batch/{name}", declared.type, declared.distribution)
        rotated: Array = np.roll(self._first[name], number * _ROTATION)
        return rotated

    def digests(self, count: int) -> dict[str, Any]:
        """There is no order to tell."""
        return {"epochs": []}

    @property
    def distinct(self) -> int:
        """How many a run takes in turn."""
        return SYNTHETIC


def _can_be_rotated(declared: Input) -> bool:
    distribution = declared.distribution
    independent = distribution.kind in ("normal", "uniform") and distribution.probability == 1.0
    return independent and declared.type.elements > _ROTATED_ELEMENTS


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
        self._data = StoredData.open(folder)
        self._inputs = BatchInputs.of(graph)
        self._graph = graph
        self._seed = seed
        self._orders: dict[int, Array] = {}

    @property
    def distinct(self) -> int:
        """Number of whole mini-batches in an epoch."""
        return self._data.trained // self._graph.batch_size

    def batch(self, number: int) -> Arrays:
        """Return a mini-batch; numbers go on through the epochs."""
        epoch, position = divmod(number, self.distinct)
        size = self._graph.batch_size
        chosen = self._order(epoch)[position * size : (position + 1) * size]
        samples = self._data.scaled(self._data.samples[chosen], self._inputs.distribution)
        return self._inputs.arrays(samples, self._data.labels[chosen], None, self._data.classes)

    def digests(self, count: int) -> dict[str, Any]:
        """Return the SHA-256 of the order of each epoch that ``count`` mini-batches reach into."""
        epochs = range(-(-count // self.distinct))
        return {"epochs": [values.index_digest(self._order(epoch)) for epoch in epochs]}

    def _order(self, epoch: int) -> Array:
        if epoch not in self._orders:
            self._orders = {epoch: values.draw_order(self._seed, f"epoch/{epoch}", self._data.trained)}
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


class BatchFeeder:
    """What each step takes, one after the other: mini-batches on the device, or such as the step brings there.

    Parameters
    ----------
    batches : Batches
        The mini-batches of the run.
    load : callable
        The program's.
    inputs : {"resident", "fed"}
        ``resident``: mini-batches are loaded beforehand and come around in that order: as many of an
        epoch of a data set as fit :data:`RESIDENT_BYTES`; of random ones as many as it takes to be larger
        together than the last-level cache, those beyond the first :data:`SYNTHETIC` being copies of them.
        ``fed``: the step itself loads each; what a data set's samples are made from is read before it.
    random : bool
        Whether the mini-batches are random ones.
    """

    def __init__(
        self, batches: Batches, load: Callable[[Arrays], Any], inputs: str, *, random: bool = False
    ) -> None:
        self._batches = batches
        self._load = load
        self._random = random
        self.fed = inputs == "fed"
        self.taken = 0
        self._source: Callable[[], Arrays] | None = None
        self.first = batches.batch(0)
        self.bytes_each = sum(array.nbytes for array in self.first.values())
        self.native_first = load(self.first)
        self._host = [self.first]
        self._pool = [] if self.fed else [self.native_first]
        if not self.fed and not random:
            self.fill(batches.distinct)

    def fill(self, steps: int) -> None:
        """Load what the next ``steps`` steps take, as far as it is to be on the device beforehand."""
        if self.fed:
            return
        fitting = max(1, RESIDENT_BYTES // max(1, self.bytes_each))
        wanted = min(self._all(), fitting, steps)
        self._pool += [self._load(self._copy(n)) for n in range(len(self._pool), wanted)]

    def _all(self) -> int:
        if not self._random:
            return self._batches.distinct
        return max(self._batches.distinct, last_level_cache_bytes() // max(1, self.bytes_each) + 1)

    def _copy(self, number: int) -> Arrays:
        """Return a mini-batch in memory of its own: a framework may compute on the very arrays it is given."""
        if not self._random:
            return self._batches.batch(number)
        distinct = self._host_batch(number % self._batches.distinct)
        if number < self._batches.distinct:
            return distinct
        return {name: array.copy() for name, array in distinct.items()}

    def _host_batch(self, number: int) -> Arrays:
        self._host += [self._batches.batch(n) for n in range(len(self._host), number + 1)]
        return self._host[number]

    @property
    def distinct(self) -> int:
        """Number of different mini-batches that steps have taken in turn."""
        loaded = len(self._host) if self._random else len(self._pool)
        return self._batches.distinct if self.fed and not self._random else loaded

    @property
    def resident_bytes(self) -> int:
        """What the mini-batches on the device take together."""
        return len(self._pool) * self.bytes_each

    def __call__(self) -> Any:
        """Return what the next step takes."""
        number = self.taken
        self.taken += 1
        if self._pool:
            return self._pool[number % len(self._pool)]
        return self._from_host(number)

    def resume_from(self, taken: int) -> None:
        """Have the next step take the mini-batch after so many."""
        self.taken = taken

    def batch_of(self, number: int) -> Arrays:
        """Return the mini-batch that a step took, by the step's number from 0, as NumPy arrays."""
        return self._from_host(number % len(self._pool) if self._pool else number)

    def unseen(self, number: int) -> Arrays:
        """Return one of the mini-batches that no step takes, as NumPy arrays."""
        if self._random:
            return self._batches.batch(self._batches.distinct + number)
        epochs = -(-max(self.taken, 1) // self._batches.distinct)
        return self._batches.batch((epochs + 1) * self._batches.distinct + number)

    def host_batch(self) -> Arrays:
        """Return the next mini-batch as NumPy arrays."""
        number = self.taken
        self.taken += 1
        return self._from_host(number) if self._source is None else self._source()

    def follow(self, source: Callable[[], Arrays]) -> None:
        """Have :meth:`host_batch` return what a source gives: the same mini-batches, which are made elsewhere."""
        self._source = source

    def _from_host(self, number: int) -> Arrays:
        if not self._random:
            return self._batches.batch(number)
        return self._host_batch(number % self._batches.distinct)

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


UNKNOWN_CACHE_BYTES = 64 << 20
"""Taken for the last-level cache where the machine does not tell."""


def last_level_cache_bytes(root: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> int:
    """Return the size of the largest cache of the first core."""
    sizes = []
    for file in root.glob("index*/size"):
        text = file.read_text(encoding="ascii").strip()
        if text[:-1].isdigit() and text[-1] in "KM":
            sizes.append(int(text[:-1]) << (10 if text[-1] == "K" else 20))
    return max(sizes, default=UNKNOWN_CACHE_BYTES)
