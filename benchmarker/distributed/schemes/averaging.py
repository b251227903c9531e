"""Ranks train by themselves, and every so many steps their weights become the mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarker.api.interconnect import Interconnect
from benchmarker.api.rules import Whole
from benchmarker.api.scheme import Communicator, Model, RankSteps, Replica, Scheme
from benchmarker.api.update_rule import constant
from benchmarker.distributed.exchanges import all_reduce_sent, ring_seconds
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

MAX_STEPS = 1_000_000
MAX_FOLLOWED = 32
"""Steps of a period that a proof follows to its end."""


class _Steps(RankSteps):
    def __init__(self, replica: Replica, communicator: Communicator, every: int) -> None:
        self._replica, self._communicator, self._every = replica, communicator, every
        self._left = every

    def step(self, gradient: Array) -> None:
        self._replica.update(gradient)
        self._left -= 1
        if self._left == 0:
            weights = self._replica.weights
            self._communicator.sum(weights)
            weights /= self._communicator.size
            self._left = self._every


class _Model(Model):
    is_elementwise = True

    def __init__(self, every: int) -> None:
        self._every = every
        self._steps = 0

    def step(self, weights: Array, gradients: Array, update: Callable[[int, Array, Array], Array]) -> Array:
        import numpy as np

        self._steps += 1
        moved = np.stack([update(i, *pair) for i, pair in enumerate(zip(weights, gradients))])
        if self._steps % self._every:
            return moved
        return np.tile(np.mean(moved, axis=0), (len(moved), 1))


@dataclass(frozen=True)
class Averaging(Scheme):
    """Local stochastic gradient descent: weights are averaged, the optimizers' states stay each rank's own."""

    steps: int = constant(16, Whole(1, MAX_STEPS))

    name = "averaging"
    description = "each rank trains by itself, and every STEPS steps the weights become their mean"
    source = "Stich 2019, ICLR, arXiv 1805.09767 (local SGD)"
    algorithm = "weights averaged, ring"

    @property
    def is_consistent(self) -> bool:  # type: ignore[override]
        return self.steps == 1

    @property
    def proof_steps(self) -> int:
        return self.steps + 1 if self.steps <= MAX_FOLLOWED else 2

    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        return _Steps(replica, communicator, self.steps)

    def model(self, ranks: int) -> Model:
        return _Model(self.steps)

    def sent_bytes(self, gradient_bytes: float, ranks: int) -> float:
        return all_reduce_sent(gradient_bytes, ranks) / self.steps

    def seconds(self, gradient_bytes: float, ranks: int, interconnect: Interconnect) -> float:
        return ring_seconds(gradient_bytes, ranks, interconnect) / self.steps
