"""A scheme of one's own: ranks exchange the signs of their gradients, a bit each, and follow the majority.

``benchmarker list schemes`` shows those that come with benchmarker; this one is named by its path wherever a scheme is:
``benchmarker scale RECORD --scheme=examples/schemes/majority_vote.py``, with its constant ``.../majority_vote.py/0.5``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarker.api import Communicator, Interconnect, Model, RankSteps, Real, Replica, Scheme, constant

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

BITS = 32
"""Of a gradient in float32, which becomes one."""


class Steps(RankSteps):
    """A rank's: it packs its signs into bits, and counts those of all."""

    def __init__(self, replica: Replica, communicator: Communicator, scale: float) -> None:
        self._replica, self._communicator, self._scale = replica, communicator, scale

    def step(self, gradient: Array) -> None:
        import numpy as np

        votes = self._communicator.gather(np.packbits(gradient >= 0))
        positive = np.unpackbits(votes, axis=1, count=len(gradient)).sum(axis=0, dtype=np.int32)
        gradient[:] = self._scale * np.sign(2 * positive - self._communicator.size)
        self._replica.update(gradient)


@dataclass(frozen=True)
class Majority(Model):
    """The definition, on all ranks' gradients at once: a sum of signs, of which 0 counts as positive."""

    scale: float

    def step(self, weights: Array, gradients: Array, update: Callable[[int, Array, Array], Array]) -> Array:
        import numpy as np

        vote = np.sign(np.where(gradients < 0, -1.0, 1.0).sum(axis=0)) * self.scale
        return np.stack([update(rank, own, vote) for rank, own in enumerate(weights)])


@dataclass(frozen=True)
class MajorityVote(Scheme):
    """signSGD; a tie moves nothing."""

    scale: float = constant(1.0, Real(above=0.0))

    name = "majority_vote"
    description = (
        "ranks exchange the signs of their gradients, and each updates with SCALE times the majority's"
    )
    source = "Bernstein et al. 2019, ICLR, arXiv 1810.05291 (signSGD with majority vote)"
    algorithm = "bits gathered on a ring"

    def begin(self, replica: Replica, communicator: Communicator) -> RankSteps:
        return Steps(replica, communicator, self.scale)

    def model(self, ranks: int) -> Model:
        return Majority(self.scale)

    def sent_bytes(self, gradient_bytes: float, ranks: int) -> float:
        return (ranks - 1) * gradient_bytes / BITS

    def seconds(self, gradient_bytes: float, ranks: int, interconnect: Interconnect) -> float:
        message = gradient_bytes / BITS / interconnect.bytes_per_second
        return (ranks - 1) * (interconnect.latency_seconds + message)


def benchmarker_scheme() -> Scheme:
    """Return the scheme with its usual constant."""
    return MajorityVote()
