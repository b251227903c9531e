"""Schemes of which one rank does wrong, at the start or after many steps, and whose definitions are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarker.api.scheme import Communicator, RankSteps, Replica, Update
from benchmarker.distributed.schemes.all_reduce import AllReduce
from benchmarker.distributed.schemes.neighbours import Neighbours
from benchmarker.distributed.schemes.parameter_server import AsynchronousServer

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

LATE = 5
"""Steps that are right first: more than a proof follows before the timed part."""
CLIP = 0.01


class _AllReduced(RankSteps):
    """Right steps, with something done before or after each."""

    def __init__(self, replica: Replica, communicator: Communicator) -> None:
        self.replica, self.communicator = replica, communicator
        self.made = 0

    @property
    def is_last(self) -> bool:
        return self.communicator.rank == self.communicator.size - 1

    def before(self, gradient: Array) -> None:
        """Change the rank's own gradient."""

    def after(self) -> None:
        """Change the rank's weights."""

    def mean(self, gradient: Array) -> None:
        self.communicator.sum(gradient)
        gradient /= self.communicator.size

    def update(self, gradient: Array) -> None:
        self.replica.update(gradient)

    def step(self, gradient: Array) -> None:
        self.made += 1
        self.before(gradient)
        self.mean(gradient)
        self.update(gradient)
        self.after()


class _OtherStart(_AllReduced):
    def __init__(self, replica: Replica, communicator: Communicator) -> None:
        super().__init__(replica, communicator)
        replica.weights[...] += communicator.rank * 1e-3


class _ClippedBefore(_AllReduced):
    def before(self, gradient: Array) -> None:
        gradient *= min(1.0, CLIP / float(np.linalg.norm(gradient)))


class _SameGradient(_AllReduced):
    """The last rank takes the gradient of its first step in all others too."""

    def before(self, gradient: Array) -> None:
        if self.made == 1:
            self.first = gradient.copy()
        elif self.is_last:
            gradient[...] = self.first


class _LastBit(_AllReduced):
    def after(self) -> None:
        if self.is_last and self.made == LATE:
            weights = self.replica.weights
            weights[0] = np.nextafter(weights[0], np.float32(np.inf))


class _SummedLate(_AllReduced):
    def mean(self, gradient: Array) -> None:
        super().mean(gradient)
        if self.made > LATE:
            gradient *= self.communicator.size


class _SummedNowAndThen(_AllReduced):
    def mean(self, gradient: Array) -> None:
        super().mean(gradient)
        if self.made > LATE and self.made % 5 == 0:
            gradient *= self.communicator.size


class _SkippedLate(_AllReduced):
    def update(self, gradient: Array) -> None:
        if not (self.is_last and self.made == LATE):
            super().update(gradient)


def _all_reduce(name: str, steps: type[_AllReduced]) -> type[AllReduce]:
    def begin(self: AllReduce, replica: Replica, communicator: Communicator) -> RankSteps:
        return steps(replica, communicator)

    return dataclass(frozen=True)(type(name, (AllReduce,), {"begin": begin, "__doc__": steps.__doc__}))


OtherStart = _all_reduce("OtherStart", _OtherStart)
ClippedBefore = _all_reduce("ClippedBefore", _ClippedBefore)
SameGradient = _all_reduce("SameGradient", _SameGradient)
LastBit = _all_reduce("LastBit", _LastBit)
SummedLate = _all_reduce("SummedLate", _SummedLate)
SummedNowAndThen = _all_reduce("SummedNowAndThen", _SummedNowAndThen)
SkippedLate = _all_reduce("SkippedLate", _SkippedLate)


@dataclass(frozen=True)
class OtherNeighbours(Neighbours):
    """Ranks start from different weights, as a scheme may that lets them differ later."""

    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        replica.weights[...] += communicator.rank * 1e-3
        return super().begin(replica, communicator)


@dataclass(frozen=True)
class LostUpdate(AsynchronousServer):
    """The server makes nothing of one gradient."""

    def serve(self, replica: Replica, communicator: Communicator) -> Sequence[Update]:
        made = []

        def update(gradient: Array) -> None:
            made.append(1)
            # Told of, so that its number is right.
            replica.update(gradient * np.float32(len(made) != LATE))

        return super().serve(replace(replica, update=update), communicator)


@dataclass(frozen=True)
class FreshLog(AsynchronousServer):
    """The log says of every gradient but a rank's first that it was of the newest weights."""

    def serve(self, replica: Replica, communicator: Communicator) -> Sequence[Update]:
        log = super().serve(replica, communicator)
        return [replace(one, read=version if one.step else one.read) for version, one in enumerate(log)]
