"""What an exchange between ranks costs: bytes and seconds by formula.

``n`` are the bytes of what is exchanged, ``p`` the ranks. Times are those of a network without contention, on which
every rank sends and receives at once (Thakur, Rabenseifner, Gropp, IJHPCA 19, 2005, table 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from benchmarker.api.interconnect import Interconnect
from benchmarker.api.scheme import Scheme
from benchmarker.quick_dataclass import dataclass

Bytes = Callable[[float, int], float]
Seconds = Callable[[float, int, Interconnect], float]


@dataclass(frozen=True)
class Exchange:
    """How ranks exchange what they have computed: a scheme, and the algorithm that carries it.

    Parameters
    ----------
    name : str
        The scheme's with its constant, or that of another algorithm.
    algorithm : str
        What sends, in words.
    sent : callable
        Bytes that all send in an exchange, over the number of ranks.
    seconds : callable
        Of an exchange.
    overlaps : bool
        Whether gradients are sent one after the other while others are still computed.
    """

    name: str
    algorithm: str
    sent: Bytes
    seconds: Seconds
    overlaps: bool = True

    @classmethod
    def of(cls, scheme: Scheme) -> Exchange:
        """Return a scheme's own."""
        return cls(scheme.label, scheme.algorithm, scheme.sent_bytes, scheme.seconds, scheme.overlaps)


def all_reduce_sent(n: float, p: int) -> float:
    """Return the bytes of an all-reduce: those of a reduce-scatter and an all-gather."""
    return 2 * scattered(n, p)


def scattered(n: float, p: int) -> float:
    """Return the bytes of a reduce-scatter of ``n``, or of an all-gather to ``n``."""
    return (p - 1) / p * n


def ring_seconds(n: float, p: int, network: Interconnect) -> float:
    """Return the seconds of an all-reduce on a ring: a reduce-scatter, then an all-gather."""
    return 2 * (p - 1) * (network.latency_seconds + n / p / network.bytes_per_second)


def server_seconds(n: float, p: int, network: Interconnect) -> float:
    """Return the seconds of a step of all workers whom one server answers together.

    It answers one after the other; who is answered sends its next gradient meanwhile, so that only that of the last
    has the server's link for itself.
    """
    return (p + 1) * _transfer_seconds(n, p, network)


def asynchronous_seconds(n: float, p: int, network: Interconnect) -> float:
    """Return the seconds of a step of a worker that one server answers at once: its link always carries an answer."""
    return max(2, p) * _transfer_seconds(n, p, network)


def _transfer_seconds(n: float, p: int, network: Interconnect) -> float:
    return network.far_latency(p) + n / network.bytes_per_second


def _rounds(p: int) -> int:
    return math.ceil(math.log2(p)) if p > 1 else 0


def _halving_seconds(n: float, p: int, network: Interconnect) -> float:
    return 2 * _rounds(p) * network.far_latency(p) + 2 * (p - 1) / p * n / network.bytes_per_second


def _tree_seconds(n: float, p: int, network: Interconnect) -> float:
    """Return the seconds of a reduction to one rank and a broadcast, along a binomial tree."""
    return 2 * _rounds(p) * (network.far_latency(p) + n / network.bytes_per_second)


def _gathered_twice_seconds(n: float, p: int, network: Interconnect) -> float:
    """Return the seconds of two all-gathers of weights and a reduce-scatter of gradients, on a ring."""
    return 3 * (p - 1) * (network.latency_seconds + n / p / network.bytes_per_second)


OTHER_ALGORITHMS = {
    exchange.name: exchange
    for exchange in (
        Exchange("all-reduce-halving", "recursive halving and doubling", all_reduce_sent, _halving_seconds),
        Exchange("all-reduce-tree", "binomial tree", all_reduce_sent, _tree_seconds),
        Exchange(
            "sharded-weights",
            "weights gathered twice, gradients scattered, ring",
            lambda n, p: 3 * scattered(n, p),
            _gathered_twice_seconds,
        ),
    )
}
"""Of schemes whose steps are the same: an all-reduce by other algorithms, and shards without whole weights."""
