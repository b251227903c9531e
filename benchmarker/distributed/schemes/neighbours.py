"""Ranks on a ring mix their weights with those of their neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarker.api.interconnect import Interconnect
from benchmarker.api.scheme import Communicator, Model, RankSteps, Replica, Scheme
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class _Steps(RankSteps):
    def __init__(self, replica: Replica, communicator: Communicator) -> None:
        self._replica, self._communicator = replica, communicator

    def step(self, gradient: Array) -> None:
        rank, size = self._communicator.rank, self._communicator.size
        before, after = (rank - 1) % size, (rank + 1) % size
        weights = self._replica.weights
        if size > 1:
            received = self._communicator.swap(weights, after, before)
            if size > 2:  # of two ranks both neighbours are the same one
                received += self._communicator.swap(weights, before, after)
            weights += received
            weights /= min(size, 3)
        self._replica.update(gradient)


def mixing_matrix(ranks: int) -> Array:
    """Return W of a ring: what a rank (row) takes of each other's weights (column)."""
    import numpy as np

    ring = np.eye(ranks) + np.roll(np.eye(ranks), 1, axis=0) + np.roll(np.eye(ranks), -1, axis=0)
    linked = (ring > 0).astype(np.float64)
    linked /= linked.sum(axis=1, keepdims=True)
    return linked


class _Model(Model):
    """``X <- W X - rate G(X)``, and any other rule in place of the last term."""

    is_elementwise = True

    def __init__(self, ranks: int) -> None:
        self._mixing = mixing_matrix(ranks)

    def step(self, weights: Array, gradients: Array, update: Callable[[int, Array, Array], Array]) -> Array:
        import numpy as np

        mixed = self._mixing @ weights
        return np.stack([update(i, *pair) for i, pair in enumerate(zip(mixed, gradients))])


@dataclass(frozen=True)
class Neighbours(Scheme):
    """D-PSGD on a ring: the gradient is taken at the weights before mixing, the update is made after it."""

    name = "neighbours"
    description = "each rank mixes its weights with those of both neighbours on a ring, and updates by itself"
    source = "Lian et al. 2017, NIPS, arXiv 1705.09056, algorithm 1 (D-PSGD)"
    algorithm = "ring, weights of both neighbours"
    overlaps = True
    is_consistent = False

    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        return _Steps(replica, communicator)

    def model(self, ranks: int) -> Model:
        return _Model(ranks)

    def sent_bytes(self, gradient_bytes: float, ranks: int) -> float:
        return min(2, ranks - 1) * gradient_bytes

    def seconds(self, gradient_bytes: float, ranks: int, interconnect: Interconnect) -> float:
        neighbours = min(2, ranks - 1)
        sending = neighbours * gradient_bytes / interconnect.bytes_per_second
        return interconnect.latency_seconds * bool(neighbours) + sending
