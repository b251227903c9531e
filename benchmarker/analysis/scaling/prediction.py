"""A step of several ranks: the slowest rank's computing, and what of the sending does not hide behind it."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarker.analysis.scaling.readiness import Bucket
from benchmarker.analysis.scaling.slowest import StepTimes
from benchmarker.api.interconnect import Interconnect
from benchmarker.distributed.exchanges import Exchange
from benchmarker.quick_dataclass import dataclass

BAND = (0.025, 0.975)


@dataclass(frozen=True)
class Workload:
    """What one rank does in a step.

    Parameters
    ----------
    times : StepTimes
        Of a step on one rank.
    buckets : tuple of Bucket
        Its gradients, in the order in which they are ready.
    backward_share : float
        Of a step.
    """

    times: StepTimes
    buckets: tuple[Bucket, ...]
    backward_share: float

    @property
    def gradient_bytes(self) -> int:
        """Bytes of all gradients, which are those of the weights that are trained."""
        return sum(bucket.size for bucket in self.buckets)


@dataclass(frozen=True)
class Prediction:
    """A step of several ranks.

    Parameters
    ----------
    ranks : int
        How many.
    compute_seconds : float
        Mean of the slowest rank's step, which is the one rank's where there is one.
    sending_seconds : float
        Of all that is sent in a step.
    exposed_seconds : float
        What of it comes after the computing.
    step_seconds, low, high : float
        Mean of a step, and between what 95 % of steps lie.
    bytes_per_rank : float
        Sent in a step.
    is_known : bool
        Whether there are no more ranks than steps were measured; of more, the slowest may be slower still.
    """

    ranks: int
    compute_seconds: float
    sending_seconds: float
    exposed_seconds: float
    step_seconds: float
    low: float
    high: float
    bytes_per_rank: float
    is_known: bool


def predict(
    work: Workload, ranks: int, exchange: Exchange, network: Interconnect, *, overlap: bool = True
) -> Prediction:
    """Return the step of so many ranks.

    Parameters
    ----------
    work : Workload
        Of each rank.
    ranks : int
        At least 1.
    exchange : Exchange
        What the scheme sends.
    network : Interconnect
        Over which.
    overlap : bool
        Whether gradients are sent while others are computed, where the scheme allows it.
    """
    times = work.times
    compute = times.mean_of_slowest(ranks)
    hides = overlap and exchange.overlaps
    buckets = work.buckets if hides else (Bucket(1.0, work.gradient_bytes),)
    sending = [
        exchange.seconds(bucket.size, ranks, network) if ranks > 1 and bucket.size else 0.0
        for bucket in buckets
    ]

    def exposed(computing: float) -> float:
        return _exposed(computing, work.backward_share, buckets, sending)

    low, high = (times.quantile_of_slowest(share, ranks) for share in BAND)
    step = compute + exposed(compute)
    return Prediction(
        ranks,
        compute,
        sum(sending),
        exposed(compute),
        step,
        low + exposed(low),
        high + exposed(high),
        exchange.sent(work.gradient_bytes, ranks) if ranks > 1 else 0.0,
        ranks <= times.max_ranks_known,
    )


def _exposed(
    computing: float, backward_share: float, buckets: Sequence[Bucket], sending: Sequence[float]
) -> float:
    """Return the seconds of sending after a step's computing, one bucket being sent after the other."""
    backward = computing * backward_share
    free = 0.0
    for bucket, seconds in zip(buckets, sending):
        free = max(free, computing - backward + bucket.ready * backward) + seconds
    return max(0.0, free - computing)
