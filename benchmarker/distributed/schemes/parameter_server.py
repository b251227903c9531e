"""A server that holds the weights: synchronous, asynchronous, and between these with a bound on staleness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from benchmarker.api.interconnect import Interconnect
from benchmarker.api.rules import Whole
from benchmarker.api.scheme import Communicator, Model, RankSteps, Replica, Scheme, Update
from benchmarker.api.update_rule import constant
from benchmarker.distributed.exchanges import asynchronous_seconds, server_seconds
from benchmarker.distributed.schemes.serving import ServedSteps, serve_each, serve_together
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

MAX_BOUND = 1_000_000


class _Together(Model):
    """The server's own rule, here that of replica 0, updates once with the mean; all replicas get its weights."""

    is_elementwise = True

    def step(self, weights: Array, gradients: Array, update: Callable[[int, Array, Array], Array]) -> Array:
        import numpy as np

        return np.tile(update(0, weights[0], np.mean(gradients, axis=0)), (len(weights), 1))


class _OneByOne(Model):
    """Updates one after the other, in the order of the rows, each after which that row has what the server has.

    All gradients are given; which weights each was taken at is the replay's matter.
    """

    def step(self, weights: Array, gradients: Array, update: Callable[[int, Array, Array], Array]) -> Array:
        import numpy as np

        moved = [weights[0]]
        for gradient in gradients:
            moved.append(update(0, moved[-1], gradient))
        return np.stack(moved[1:])


class _Served(Scheme):
    """What all schemes with one server have in common."""

    algorithm = "one server beside the ranks"
    has_server = True

    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        return ServedSteps(replica, communicator)

    def sent_bytes(self, gradient_bytes: float, ranks: int) -> float:
        return 2 * gradient_bytes

    def seconds(self, gradient_bytes: float, ranks: int, interconnect: Interconnect) -> float:
        return asynchronous_seconds(gradient_bytes, ranks, interconnect)


@dataclass(frozen=True)
class ParameterServer(_Served):
    """Synchronous: one update with the mean of all gradients, then all are answered."""

    name = "parameter-server"
    description = "a server makes one update with the mean of all gradients, and all wait for its weights"
    source = "Li et al. 2014, OSDI; synchronous: Chen et al. 2016, arXiv 1604.00981"
    is_mean_gradient = True

    def seconds(self, gradient_bytes: float, ranks: int, interconnect: Interconnect) -> float:
        return server_seconds(gradient_bytes, ranks, interconnect)

    def serve(self, replica: Replica, communicator: Communicator) -> Sequence[Update]:
        return serve_together(replica, communicator)

    def model(self, ranks: int) -> Model:
        return _Together()


@dataclass(frozen=True)
class AsynchronousServer(_Served):
    """No rank waits for another: a gradient may be of weights that others have moved since."""

    name = "asynchronous-server"
    description = "a server updates with each gradient as it comes, and answers at once"
    source = "Dean et al. 2012, NIPS (Downpour SGD)"
    is_consistent = False
    is_replayed = True

    def serve(self, replica: Replica, communicator: Communicator) -> Sequence[Update]:
        return serve_each(replica, communicator)

    def model(self, ranks: int) -> Model:
        return _OneByOne()


@dataclass(frozen=True)
class StaleSynchronous(_Served):
    """Asynchronous, but a rank that is more than so many steps ahead of the slowest waits for it."""

    bound: int = constant(3, Whole(0, MAX_BOUND))

    name = "stale-synchronous"
    description = "a server updates with each gradient, and no rank is more than BOUND steps ahead of another"
    source = "Ho et al. 2013, NIPS (stale synchronous parallel)"
    is_consistent = False
    is_replayed = True

    def serve(self, replica: Replica, communicator: Communicator) -> Sequence[Update]:
        return serve_each(replica, communicator, self.bound)

    def model(self, ranks: int) -> Model:
        return _OneByOne()
