"""Each rank averages with one other a step, twice as far away each time: one-peer exponential graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarker.api import Communicator, Interconnect, Model, RankSteps, Replica, Scheme

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def distance(step: int, ranks: int) -> int:
    return int(2 ** (step % max(1, (ranks - 1).bit_length())))


class Steps(RankSteps):
    def __init__(self, replica: Replica, communicator: Communicator) -> None:
        self._replica, self._communicator = replica, communicator
        self._made = 0

    def step(self, gradient: Array) -> None:
        rank, size = self._communicator.rank, self._communicator.size
        far = distance(self._made, size)
        self._made += 1
        if size > 1:
            weights = self._replica.weights
            weights += self._communicator.swap(weights, (rank + far) % size, (rank - far) % size)
            weights /= 2
        self._replica.update(gradient)


class Mixing(Model):
    def __init__(self) -> None:
        self._made = 0

    def step(self, weights: Array, gradients: Array, update: Callable[[int, Array, Array], Array]) -> Array:
        import numpy as np

        received = np.roll(weights, distance(self._made, len(weights)), axis=0)
        self._made += 1
        mixed = (weights + received) / 2
        return np.stack([update(rank, mixed[rank], gradients[rank]) for rank in range(len(weights))])


@dataclass(frozen=True)
class OnePeer(Scheme):
    name = "one_peer"
    description = "each rank averages its weights with one other, twice as far away each step"
    source = "Ying et al. 2021, NeurIPS, arXiv 2110.13363"
    algorithm = "weights of one other rank"
    is_consistent = False

    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        return Steps(replica, communicator)

    def model(self, ranks: int) -> Model:
        return Mixing()

    def sent_bytes(self, gradient_bytes: float, ranks: int) -> float:
        return gradient_bytes if ranks > 1 else 0.0

    def seconds(self, gradient_bytes: float, ranks: int, interconnect: Interconnect) -> float:
        if ranks == 1:
            return 0.0
        return interconnect.far_latency(ranks) + gradient_bytes / interconnect.bytes_per_second


def benchmarker_scheme() -> Scheme:
    return OnePeer()
