"""Gradients averaged over all ranks, and the same update on each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarker.api.interconnect import Interconnect
from benchmarker.api.scheme import Communicator, Model, RankSteps, Replica, Scheme
from benchmarker.distributed.exchanges import all_reduce_sent, ring_seconds
from benchmarker.distributed.schemes.models import MeanGradient
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class _Steps(RankSteps):
    def __init__(self, replica: Replica, communicator: Communicator) -> None:
        self._replica, self._communicator = replica, communicator

    def step(self, gradient: Array) -> None:
        self._communicator.sum(gradient)
        gradient /= self._communicator.size
        self._replica.update(gradient)


@dataclass(frozen=True)
class AllReduce(Scheme):
    """Synchronous stochastic gradient descent without a server."""

    name = "all-reduce"
    description = "each rank makes the same update with the mean of all gradients"
    source = (
        "Goyal et al. 2017, arXiv 1706.02677; ring: Patarasuk, Yuan, J. Parallel Distrib. Comput. 69, 2009"
    )
    algorithm = "ring"
    overlaps = True
    is_mean_gradient = True

    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        return _Steps(replica, communicator)

    def model(self, ranks: int) -> Model:
        return MeanGradient()

    def sent_bytes(self, gradient_bytes: float, ranks: int) -> float:
        return all_reduce_sent(gradient_bytes, ranks)

    def seconds(self, gradient_bytes: float, ranks: int, interconnect: Interconnect) -> float:
        return ring_seconds(gradient_bytes, ranks, interconnect)
