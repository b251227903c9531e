"""Schemes with a mistake in their steps each, whose definitions are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from benchmarker.api.scheme import Communicator, RankSteps, Replica, part_of
from benchmarker.distributed.schemes.all_reduce import AllReduce
from benchmarker.distributed.schemes.averaging import Averaging
from benchmarker.distributed.schemes.neighbours import Neighbours
from benchmarker.distributed.schemes.parameter_server import ParameterServer
from benchmarker.distributed.schemes.sharded import Sharded
from benchmarker.distributed.schemes.sparse import Sparse

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Step = Callable[[Array], None]


class _Steps(RankSteps):
    def __init__(self, step: Step) -> None:
        self._step = step

    def step(self, gradient: Array) -> None:
        self._step(gradient)


@dataclass(frozen=True)
class Summed(AllReduce):
    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        def step(gradient: Array) -> None:
            communicator.sum(gradient)
            replica.update(gradient)

        return _Steps(step)


@dataclass(frozen=True)
class AveragedTwice(AllReduce):
    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        def step(gradient: Array) -> None:
            communicator.sum(gradient)
            gradient /= communicator.size**2
            replica.update(gradient)

        return _Steps(step)


@dataclass(frozen=True)
class SkippedStep(AllReduce):
    """The last rank makes no update in the second step."""

    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        made = []

        def step(gradient: Array) -> None:
            communicator.sum(gradient)
            gradient /= communicator.size
            made.append(1)
            if not (len(made) == 2 and communicator.rank == communicator.size - 1):
                replica.update(gradient)

        return _Steps(step)


@dataclass(frozen=True)
class RepeatedShard(Sharded):
    """All ranks are given the first one's part, where theirs is as long."""

    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        right = super().begin(replica, communicator)
        parts = [part_of(len(replica.weights), rank, communicator.size) for rank in range(communicator.size)]

        def step(gradient: Array) -> None:
            right.step(gradient)
            first = replica.weights[parts[0]]
            last = replica.weights[parts[-1]]
            last[...] = first[: len(last)]

        return _Steps(step)


@dataclass(frozen=True)
class HigherTies(Sparse):
    """Of equal elements the last ones are sent."""

    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        residual, count = np.zeros_like(replica.weights), self.kept(len(replica.weights))

        def step(gradient: Array) -> None:
            residual[...] += gradient
            order = np.lexsort((-np.arange(len(residual)), -np.abs(residual)))
            _send_sparse(replica, communicator, gradient, residual, order[:count])

        return _Steps(step)


def _send_sparse(
    replica: Replica, communicator: Communicator, gradient: Array, residual: Array, chosen: Array
) -> None:
    gradient[...] = 0
    gradient[chosen] = residual[chosen]
    residual[chosen] = 0
    communicator.sum(gradient)
    gradient /= communicator.size
    replica.update(gradient)


@dataclass(frozen=True)
class NoResidual(Sparse):
    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        count = self.kept(len(replica.weights))

        def step(gradient: Array) -> None:
            order = np.argsort(-np.abs(gradient), kind="stable")
            _send_sparse(replica, communicator, gradient, gradient.copy(), order[:count])

        return _Steps(step)


@dataclass(frozen=True)
class ForgottenResidual(Sparse):
    """What the step before left out is added, and what was left out earlier is lost."""

    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        left_out, count = np.zeros_like(replica.weights), self.kept(len(replica.weights))

        def step(gradient: Array) -> None:
            own = gradient.copy()
            wanted = gradient + left_out
            order = np.argsort(-np.abs(wanted), kind="stable")[:count]
            left_out[...] = own
            left_out[order] = 0
            _send_sparse(replica, communicator, gradient, wanted, order)

        return _Steps(step)


@dataclass(frozen=True)
class ThirdsOfTwo(Neighbours):
    """Thirds also at two ranks, where there is one neighbour: rows add up to two thirds."""

    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        rank, size = communicator.rank, communicator.size

        def step(gradient: Array) -> None:
            others = {(rank - 1) % size, (rank + 1) % size} - {rank}
            total = replica.weights.copy()
            for other in sorted(others):
                total += communicator.swap(replica.weights, other, other)
            replica.weights[...] = total / 3
            replica.update(gradient)

        return _Steps(step)


@dataclass(frozen=True)
class MixedAfterwards(Neighbours):
    """The update is made before the mixing."""

    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        mixing = super().begin(Replica(replica.weights, lambda gradient: None), communicator)

        def step(gradient: Array) -> None:
            replica.update(gradient)
            mixing.step(gradient)

        return _Steps(step)


@dataclass(frozen=True)
class AveragedLate(Averaging):
    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        made = []

        def step(gradient: Array) -> None:
            replica.update(gradient)
            made.append(1)
            if len(made) > self.steps and (len(made) - 1) % self.steps == 0:
                communicator.sum(replica.weights)
                replica.weights[...] /= communicator.size

        return _Steps(step)


@dataclass(frozen=True)
class OwnUpdates(ParameterServer):
    """A rank goes on from weights that it has updated itself."""

    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        served = super().begin(replica, communicator)

        class Steps(RankSteps):
            def step(self, gradient: Array) -> None:
                served.step(gradient)
                replica.update(gradient)

            def end(self) -> None:
                served.end()

        return Steps()
