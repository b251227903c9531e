"""Each rank updates a part of the weights: gradients are scattered, weights gathered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarker.api.interconnect import Interconnect
from benchmarker.api.scheme import Communicator, Model, RankSteps, Replica, Scheme, part_of
from benchmarker.distributed.exchanges import all_reduce_sent, ring_seconds
from benchmarker.errors import UnsupportedError
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    PartUpdate = Callable[[Array, slice], None]


class _Steps(RankSteps):
    def __init__(self, weights: Array, update_part: PartUpdate, communicator: Communicator) -> None:
        self._weights, self._update_part, self._communicator = weights, update_part, communicator
        self._part = part_of(len(weights), communicator.rank, communicator.size)

    def step(self, gradient: Array) -> None:
        part = self._communicator.scatter_sum(gradient)
        part /= self._communicator.size
        self._update_part(part, self._part)
        self._communicator.gather_parts(self._weights)


class _Model(Model):
    """Every replica knows an update of all weights, of which only its own share is kept."""

    is_elementwise = True

    def step(self, weights: Array, gradients: Array, update: Callable[[int, Array, Array], Array]) -> Array:
        import numpy as np

        mean = np.mean(gradients, axis=0)
        owners = np.array_split(np.arange(weights.shape[1]), len(weights))
        whole = np.empty(weights.shape[1])
        for replica, own in enumerate(owners):
            whole[own] = update(replica, weights[replica], mean)[own]
        return np.tile(whole, (len(weights), 1))


@dataclass(frozen=True)
class Sharded(Scheme):
    """ZeRO's second stage: gradients and the optimizer's state are sharded, weights are whole between steps.

    FSDP and ZeRO's third stage make the same steps, and gather weights twice: ``sharded-weights`` of ``scale``.
    """

    name = "sharded"
    description = (
        "each rank updates its part of the weights with the mean of all gradients, then gathers the others"
    )
    source = "Rajbhandari et al. 2020, SC20, arXiv 1910.02054, section 5.2 (ZeRO)"
    algorithm = "gradients scattered, weights gathered, ring"
    overlaps = True
    is_mean_gradient = True
    needs_elementwise = True

    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        if replica.update_part is None:
            raise UnsupportedError("scheme 'sharded' needs an optimizer that looks at each element by itself")
        return _Steps(replica.weights, replica.update_part, communicator)

    def model(self, ranks: int) -> Model:
        return _Model()

    def sent_bytes(self, gradient_bytes: float, ranks: int) -> float:
        return all_reduce_sent(gradient_bytes, ranks)

    def seconds(self, gradient_bytes: float, ranks: int, interconnect: Interconnect) -> float:
        return ring_seconds(gradient_bytes, ranks, interconnect)
