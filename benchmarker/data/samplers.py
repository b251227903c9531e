"""In which order an epoch takes the samples of a part: decided by seed and epoch, the same in every framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from benchmarker.api.options import parse_options
from benchmarker.data import values
from benchmarker.data.named_options import named_options
from benchmarker.errors import UsageError, did_you_mean
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class Sampler(Protocol):
    """Orders of epochs."""

    def order(self, epoch: int) -> Array:
        """Return the samples of an epoch, counted from 0: int64 indices into the data set, one after the other."""


def order_digest(sampler: Sampler, epoch: int) -> str:
    """Return the SHA-256 of an epoch's order, as little-endian 64-bit integers."""
    return values.index_digest(sampler.order(epoch))


@dataclass(frozen=True, eq=False)
class Ordered:
    """Every sample once, in the order of the data set, the same in every epoch.

    Parameters
    ----------
    indices : array ``(count,)``
        Of the part, int64.
    """

    indices: Array

    def order(self, epoch: int) -> Array:
        """Return the indices as they are."""
        return self.indices


@dataclass(frozen=True, eq=False)
class Shuffled:
    """Every sample once, each epoch in another order: the one in which random 64-bit keys sort them.

    Parameters
    ----------
    indices : array ``(count,)``
        Of the part, int64.
    seed : int
        Of the run.
    """

    indices: Array
    seed: int

    def order(self, epoch: int) -> Array:
        """Return a permutation of the indices."""
        shuffled: Array = self.indices[values.draw_order(self.seed, f"epoch/{epoch}", len(self.indices))]
        return shuffled


@dataclass(frozen=True, eq=False)
class Balanced:
    """Every class equally often: an epoch has as many samples as the part, of each class its even share.

    What does not divide goes to classes that the epoch draws. A class that has fewer samples than its share
    gives each of them once before any a second time; of one that has more, an epoch takes some, drawn anew.

    Parameters
    ----------
    indices : array ``(count,)``
        Of the part, int64.
    labels : array ``(samples,)``
        Class indices of the whole data set.
    seed : int
        Of the run.
    """

    indices: Array
    labels: Array
    seed: int

    def order(self, epoch: int) -> Array:
        """Return the indices of an epoch."""
        own = self.labels[self.indices]
        classes = np.unique(own)
        share, left = divmod(len(self.indices), len(classes))
        favoured = values.draw_order(self.seed, f"epoch/{epoch}/classes", len(classes))[:left]
        wanted = np.full(len(classes), share)
        wanted[favoured] += 1
        drawn = [
            self._of_class(epoch, int(label), self.indices[own == label], int(count))
            for label, count in zip(classes, wanted)
        ]
        found = np.concatenate(drawn)
        shuffled: Array = found[values.draw_order(self.seed, f"epoch/{epoch}", len(found))]
        return shuffled

    def _of_class(self, epoch: int, label: int, members: Array, count: int) -> Array:
        rounds = -(-count // len(members))
        names = (f"epoch/{epoch}/class/{label}/{number}" for number in range(rounds))
        orders = [members[values.draw_order(self.seed, name, len(members))] for name in names]
        return np.concatenate([np.empty(0, np.int64), *orders])[:count]


@dataclass(frozen=True, eq=False)
class Bucketed:
    """Samples of similar length side by side, so that a mini-batch needs little filling (Deep500's bucket sampler).

    The part is shuffled and then sorted, stably, by bucket: intervals of equal width from the shortest to the
    longest. It is cut into mini-batches, whose order is shuffled; the partial one stays last.

    Parameters
    ----------
    indices : array ``(count,)``
        Of the part, int64.
    lengths : array ``(samples,)``
        Of every sample of the data set, whole numbers.
    seed : int
        Of the run.
    batch_size : int
        Samples in a mini-batch.
    buckets : int
        Number of intervals.
    """

    indices: Array
    lengths: Array
    seed: int
    batch_size: int
    buckets: int = 30

    def order(self, epoch: int) -> Array:
        """Return a permutation of the indices."""
        shuffled = Shuffled(self.indices, self.seed).order(epoch)
        lengths = np.asarray(self.lengths, np.int64)[shuffled]
        width = int(lengths.max() - lengths.min()) + 1
        bucket = (lengths - lengths.min()) * self.buckets // width
        by_length = shuffled[np.argsort(bucket, kind="stable")]
        whole = len(by_length) // self.batch_size
        batches = by_length[: whole * self.batch_size].reshape(whole, self.batch_size)
        mixed = batches[values.draw_order(self.seed, f"epoch/{epoch}/batches", whole)]
        return np.concatenate([mixed.reshape(-1), by_length[whole * self.batch_size :]])


@dataclass(frozen=True, eq=False)
class Sharded:
    """The rows of one rank: every mini-batch of the whole is cut into as many pieces as there are ranks.

    So the ranks together take the very mini-batches that one process would take, in the same order. The
    last mini-batch of an epoch, if it is partial, is cut as evenly as it goes.

    Parameters
    ----------
    sampler : Sampler
        Of the whole.
    batch_size : int
        Of the whole; a multiple of the number of ranks.
    rank, ranks : int
        Which piece, from 0, of how many.

    Raises
    ------
    UsageError
        If there is no such rank, or the mini-batch cannot be cut evenly.
    """

    sampler: Sampler
    batch_size: int
    rank: int
    ranks: int

    def __post_init__(self) -> None:
        if self.ranks < 1 or not 0 <= self.rank < self.ranks:
            raise UsageError(f"a rank must be from 0 to {self.ranks - 1}, got {self.rank}")
        if self.batch_size % self.ranks:
            raise UsageError(
                f"the mini-batch must be a multiple of the {self.ranks} ranks, so that each has as many rows, got "
                f"{self.batch_size}"
            )

    def order(self, epoch: int) -> Array:
        """Return the indices of this rank's rows."""
        order = self.sampler.order(epoch)
        whole = len(order) // self.batch_size * self.batch_size
        rows = order[:whole].reshape(-1, self.ranks, self.batch_size // self.ranks)
        rest = order[whole:]
        bounds = [len(rest) * rank // self.ranks for rank in (self.rank, self.rank + 1)]
        return np.concatenate([rows[:, self.rank].reshape(-1), rest[bounds[0] : bounds[1]]])


# --- by name ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NoOptions:
    """There are none."""


@dataclass(frozen=True)
class BucketOptions:
    """Number of intervals of length."""

    buckets: int = 30


SAMPLERS: Mapping[str, type[Any]] = {
    "ordered": NoOptions,
    "shuffled": NoOptions,
    "balanced": NoOptions,
    "bucketed": BucketOptions,
}
"""Every sampler and its options."""


@dataclass(frozen=True)
class SamplerChoice:
    """A sampler by name, with its options.

    Parameters
    ----------
    name : str
        Of :data:`SAMPLERS`.
    options : object
        Its options.
    """

    name: str = "shuffled"
    options: Any = NoOptions()

    @classmethod
    def parse(cls, value: Any) -> SamplerChoice:
        """Make one of a name, or of a mapping with ``name`` and options.

        Raises
        ------
        UsageError
            On an unknown name or option, or a value that the option does not take.
        """
        name, options = named_options(value, "sampler")
        if name not in SAMPLERS:
            raise UsageError(f"unknown sampler '{name}'{did_you_mean(name, SAMPLERS)}")
        return cls(name, parse_options(SAMPLERS[name], options, f"sampler '{name}'"))

    def make(
        self, indices: Array, labels: Array, seed: int, batch_size: int, lengths: Array | None = None
    ) -> Sampler:
        """Return the sampler of a part; its arguments are those of the classes above.

        Raises
        ------
        UsageError
            If it needs lengths and the data set has none.
        """
        if self.name == "ordered":
            return Ordered(indices)
        if self.name == "balanced":
            return Balanced(indices, labels, seed)
        if self.name == "bucketed":
            if lengths is None:
                raise UsageError(
                    "sampler 'bucketed' is for samples of different lengths, but all of this data set are equally long"
                )
            return Bucketed(indices, lengths, seed, batch_size, self.options.buckets)
        return Shuffled(indices, seed)


# --- bias ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClassBias:
    """Which classes a sampler really gave, against those of what it sampled from (Deep500's dataset bias).

    Parameters
    ----------
    given : tuple of int
        Samples of each class that were given.
    available : tuple of int
        Samples of each class that there are.
    """

    given: tuple[int, ...]
    available: tuple[int, ...]

    @property
    def total_variation(self) -> float:
        """Half the sum of the differences between the shares of the classes: 0 if they agree, at most 1."""
        given, available = sum(self.given), sum(self.available)
        if not given or not available:
            return 0.0
        # Over a common denominator, so that equal shares give an exact 0.
        differences = (abs(g * available - a * given) for g, a in zip(self.given, self.available))
        return sum(differences) / (2 * given * available)


def class_bias(given: Array, available: Array, classes: int) -> ClassBias:
    """Compare the classes of the labels that were given with those that there are, ``(count,)`` each."""
    counts = (np.bincount(labels, minlength=classes).tolist() for labels in (given, available))
    return ClassBias(*map(tuple, counts))
