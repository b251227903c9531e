"""The largest elements of gradients alone are exchanged; what is left out is added to the next gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarker.api.interconnect import Interconnect
from benchmarker.api.rules import Real
from benchmarker.api.scheme import Communicator, Model, RankSteps, Replica, Scheme
from benchmarker.api.update_rule import constant
from benchmarker.quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

INDEX_BYTES = 4
"""Of each value that is sent alone, beside it."""
VALUE_BYTES = 4
"""Of a gradient in float32."""


def largest(vector: Array, count: int) -> Array:
    """Return the indices of the largest elements by magnitude, in order; of equal ones the lower come first."""
    import numpy as np

    size = np.abs(vector)
    size[np.isnan(size)] = np.inf  # so that they spread, as a sum would have them do
    least = np.partition(size, len(size) - count)[len(size) - count]
    above = np.flatnonzero(size > least)
    equal = np.flatnonzero(size == least)[: count - len(above)]
    return np.union1d(above, equal)


class _Steps(RankSteps):
    def __init__(self, replica: Replica, communicator: Communicator, count: int) -> None:
        import numpy as np

        self._replica, self._communicator, self._count = replica, communicator, count
        self._residual = np.zeros_like(replica.weights)
        self._union = 0.0
        self._steps = 0

    def step(self, gradient: Array) -> None:
        import numpy as np

        self._residual += gradient
        own = largest(self._residual, self._count)
        indices = self._communicator.gather(own.astype(np.uint32))
        values = self._communicator.gather(self._residual[own])
        self._residual[own] = 0
        gradient[:] = 0
        for rank in range(self._communicator.size):
            gradient[indices[rank]] += values[rank]
        gradient /= self._communicator.size
        self._union += float(np.count_nonzero(gradient)) / max(len(gradient), 1)
        self._steps += 1
        self._replica.update(gradient)

    def report(self) -> dict[str, Any]:
        return {"density": self._union / self._steps} if self._steps else {}


class _Model(Model):
    def __init__(self, share: float) -> None:
        self._share = share
        self._left_out: Array | float = 0.0

    def step(self, weights: Array, gradients: Array, update: Callable[[int, Array, Array], Array]) -> Array:
        import numpy as np

        wanted = _as_kept(gradients + self._left_out, gradients)
        length = wanted.shape[1]
        # From the largest to the smallest, equal ones in their order.
        ranking = np.argsort(np.argsort(-np.abs(wanted), axis=1, kind="stable"), axis=1, kind="stable")
        sent = np.where(ranking < max(1, round(self._share * length)), wanted, 0.0)
        self._left_out = wanted - sent
        mean = np.mean(sent, axis=0)
        return np.stack([update(replica, weights[replica], mean) for replica in range(len(weights))])


def _as_kept(sums: Array, gradients: Array) -> Array:
    """Return sums as ranks keep them: rounded otherwise, of two nearly equal elements the other would be sent."""
    import numpy as np

    given: Array = gradients.astype(np.float32)
    return sums.astype(np.float32).astype(np.float64) if np.array_equal(given, gradients) else sums


@dataclass(frozen=True)
class Sparse(Scheme):
    """Top-k with error feedback, exchanged by an all-gather of indices and values.

    What is kept is the gradient, not the step: the same with a constant learning rate, and the usual form for others.
    """

    share: float = constant(0.01, Real(above=0.0, most=1.0))

    name = "sparse"
    description = "the largest SHARE of each rank's gradient is averaged, and the rest kept for its next step"
    source = "Stich et al. 2018, NeurIPS, arXiv 1809.07599, algorithm 1; exchange: Renggli et al. 2019, SC19 (SparCML)"
    algorithm = "the largest values with their indices, gathered on a ring"

    @property
    def proof_steps(self) -> int:
        # What the first step leaves out comes back in the second, and what is left out again in the third.
        return 3

    def kept(self, length: int) -> int:
        """Return how many elements are sent of so many."""
        return min(length, max(1, round(self.share * length)))

    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        return _Steps(replica, communicator, self.kept(len(replica.weights)))

    def model(self, ranks: int) -> Model:
        return _Model(self.share)

    def _message(self, gradient_bytes: float) -> float:
        return self.kept(round(gradient_bytes / VALUE_BYTES)) * (VALUE_BYTES + INDEX_BYTES)

    def sent_bytes(self, gradient_bytes: float, ranks: int) -> float:
        return (ranks - 1) * self._message(gradient_bytes)

    def seconds(self, gradient_bytes: float, ranks: int, interconnect: Interconnect) -> float:
        message = self._message(gradient_bytes) / interconnect.bytes_per_second
        return (ranks - 1) * (interconnect.latency_seconds + message)
