"""Steps of several numbers of ranks from one-rank records: each rank's mini-batch stays, or that of all does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarker.analysis.scaling.prediction import Prediction, Workload, predict
from benchmarker.api.interconnect import Interconnect
from benchmarker.distributed.exchanges import Exchange
from benchmarker.errors import UsageError
from benchmarker.quick_dataclass import dataclass

WEAK, STRONG = "weak", "strong"


@dataclass(frozen=True)
class Point:
    """A prediction and what it is worth.

    Parameters
    ----------
    prediction : Prediction
        Of a step.
    samples_per_second : float
        Of all ranks.
    speedup : float
        Over one rank: times its samples per second.
    """

    prediction: Prediction
    samples_per_second: float
    speedup: float

    @property
    def efficiency(self) -> float:
        """The speed-up of each rank."""
        return self.speedup / self.prediction.ranks


@dataclass(frozen=True)
class Curve:
    """One scheme over one network.

    Parameters
    ----------
    exchange, network
        Which.
    points : tuple of Point
        In the order of the ranks.
    """

    exchange: Exchange
    network: Interconnect
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Scaling:
    """One-rank workloads by the samples of their mini-batch, and how these grow.

    Parameters
    ----------
    kind : {"weak", "strong"}
        Whether each rank's mini-batch stays, or that of all.
    workloads : mapping
        By batch size; weak scaling takes the largest alone.
    is_disturbed : bool
        Whether something else disturbed the machine while a step was measured, as its record tells.
    """

    kind: str
    workloads: Mapping[int, Workload]
    is_disturbed: bool = False

    @property
    def batch_size(self) -> int:
        """Of one rank alone."""
        return max(self.workloads)

    def rank_batch_size(self, ranks: int) -> int:
        """Return the samples of each rank.

        Raises
        ------
        UsageError
            If ranks do not divide the mini-batch, or no record is of so few samples.
        """
        if self.kind == WEAK:
            return self.batch_size
        size, left = divmod(self.batch_size, ranks)
        if left:
            raise UsageError(
                f"strong scaling needs ranks that divide the mini-batch of {self.batch_size}, got {ranks}"
            )
        if size not in self.workloads:
            raise UsageError(
                f"strong scaling to {ranks} ranks needs a one-rank record of batch size {size}, and those given are of "
                f"{', '.join(map(str, sorted(self.workloads)))}; add one, or name fewer --ranks"
            )
        return size

    def curve(
        self, ranks: Sequence[int], exchange: Exchange, network: Interconnect, *, overlap: bool
    ) -> Curve:
        """Return the predictions for several numbers of ranks."""
        alone = self.workloads[self.batch_size].times.mean_of_slowest(1)
        points = []
        for count in ranks:
            size = self.rank_batch_size(count)
            found = predict(self.workloads[size], count, exchange, network, overlap=overlap)
            per_second = size * count / found.step_seconds
            points.append(Point(found, per_second, per_second * alone / self.batch_size))
        return Curve(exchange, network, tuple(points))
