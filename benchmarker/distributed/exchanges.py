"""What schemes send between ranks: bytes and seconds by formula.

``n`` are the bytes of what is exchanged, ``p`` the ranks. Times are those of a network without contention, on which
every rank sends and receives at once (Thakur, Rabenseifner, Gropp, IJHPCA 19, 2005, table 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from benchmarker.api.given_values import real_number, whole_number
from benchmarker.distributed.networks import Network
from benchmarker.errors import UsageError, nearest

Bytes = Callable[[float, int], float]
Seconds = Callable[[float, int, Network], float]

SPARSE_INDEX_BYTES = 4
"""Of each value that is sent alone, beside it."""
VALUE_BYTES = 4
"""Of a gradient in float32."""


@dataclass(frozen=True)
class Exchange:
    """How ranks exchange what they have computed.

    Parameters
    ----------
    name : str
        The scheme's.
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


def ring_seconds(n: float, p: int, network: Network) -> float:
    """Return the seconds of an all-reduce on a ring: a reduce-scatter, then an all-gather."""
    return 2 * (p - 1) * (network.latency_seconds + n / p / network.bytes_per_second)


def halving_seconds(n: float, p: int, network: Network) -> float:
    """Return the seconds of an all-reduce by recursive halving and doubling (Rabenseifner)."""
    rounds = math.ceil(math.log2(p)) if p > 1 else 0
    return 2 * rounds * network.far_latency(p) + 2 * (p - 1) / p * n / network.bytes_per_second


def tree_seconds(n: float, p: int, network: Network) -> float:
    """Return the seconds of an all-reduce by a reduction to one rank and a broadcast, along a binomial tree."""
    rounds = math.ceil(math.log2(p)) if p > 1 else 0
    return 2 * rounds * (network.far_latency(p) + n / network.bytes_per_second)


def _server_seconds(n: float, p: int, network: Network) -> float:
    """Return the seconds until one server has taken and answered all workers, its link being the narrowest."""
    return 2 * (network.far_latency(p) + p * n / network.bytes_per_second)


def _neighbour_seconds(n: float, p: int, network: Network) -> float:
    neighbours = min(2, p - 1)
    return network.latency_seconds * bool(neighbours) + neighbours * n / network.bytes_per_second


def _sharded_seconds(n: float, p: int, network: Network) -> float:
    """Return the seconds of two all-gathers of weights and a reduce-scatter of gradients, on a ring."""
    return 3 * (p - 1) * (network.latency_seconds + n / p / network.bytes_per_second)


def _all_reduce_sent(n: float, p: int) -> float:
    return 2 * (p - 1) / p * n


def _averaging(every: int) -> Exchange:
    """Return that of weights after each ``every`` steps, as the mean over steps."""
    return Exchange(
        f"averaging/{every}",
        f"weights averaged every {every} steps, ring",
        lambda n, p: _all_reduce_sent(n, p) / every,
        lambda n, p, network: ring_seconds(n, p, network) / every,
        overlaps=False,
    )


def _sparse(share: float) -> Exchange:
    """Return that of the largest ``share`` of gradients, gathered from all ranks."""
    factor = share * (VALUE_BYTES + SPARSE_INDEX_BYTES) / VALUE_BYTES

    def seconds(n: float, p: int, network: Network) -> float:
        return (p - 1) * (network.latency_seconds + factor * n / network.bytes_per_second)

    return Exchange(
        f"sparse/{share:g}",
        f"the largest {share:.3g} of gradients with indices, gathered on a ring",
        lambda n, p: (p - 1) * factor * n,
        seconds,
        overlaps=False,
    )


EXCHANGES = {
    exchange.name: exchange
    for exchange in (
        Exchange("all-reduce", "ring", _all_reduce_sent, ring_seconds),
        Exchange("all-reduce-halving", "recursive halving and doubling", _all_reduce_sent, halving_seconds),
        Exchange("all-reduce-tree", "binomial tree", _all_reduce_sent, tree_seconds),
        Exchange(
            "parameter-server",
            "one server beside the ranks",
            lambda n, p: 2 * n,
            _server_seconds,
            overlaps=False,
        ),
        Exchange(
            "neighbours",
            "ring, weights of both neighbours",
            lambda n, p: min(2, p - 1) * n,
            _neighbour_seconds,
        ),
        Exchange(
            "sharded",
            "weights gathered twice, gradients scattered",
            lambda n, p: 3 * (p - 1) / p * n,
            _sharded_seconds,
        ),
    )
}

_AVERAGING, _SPARSE = "averaging/", "sparse/"
KNOWN = (*EXCHANGES, f"{_AVERAGING}STEPS", f"{_SPARSE}SHARE")
MAX_AVERAGING_STEPS = 1_000_000


def exchange_of(text: str) -> Exchange:
    """Return the exchange of a scheme's name, as ``all-reduce``, ``averaging/16`` or ``sparse/0.01``.

    Raises
    ------
    UsageError
        On an unknown name or an impossible constant.
    """
    if text in EXCHANGES:
        return EXCHANGES[text]
    if text.startswith(_AVERAGING):
        return _averaging(_steps(text[len(_AVERAGING) :]))
    if text.startswith(_SPARSE):
        return _sparse(_share(text[len(_SPARSE) :]))
    raise UsageError(f"a scheme must be one of {', '.join(KNOWN)}, got '{text}'{nearest(text, EXCHANGES)}")


def _steps(text: str) -> int:
    try:
        steps = whole_number(text)
    except ValueError:
        steps = 0
    if not 1 <= steps <= MAX_AVERAGING_STEPS:
        raise UsageError(
            f"{_AVERAGING}STEPS takes a whole number from 1 to {MAX_AVERAGING_STEPS:,}, got '{text}'"
        )
    return steps


def _share(text: str) -> float:
    try:
        share = real_number(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise UsageError(f"{_SPARSE}SHARE takes a number above 0 and at most 1, got '{text}'")
    return share
