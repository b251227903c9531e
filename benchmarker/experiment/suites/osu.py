"""Messages between two ranks over a sweep of sizes, as the OSU micro-benchmarks send them."""

from __future__ import annotations

from benchmarker.api.suite import Request, Suite

PROBLEM = "point_to_point"
SIZES = tuple(1 << power for power in range(21))
"""Elements: messages of 4 bytes to 4 MiB, theirs of 1 byte to 4 MiB."""
LATENCY_WINDOW, BANDWIDTH_WINDOW = 1, 64
_SOURCE = "OSU micro-benchmarks (Panda et al., mvapich.cse.ohio-state.edu)"


def _requests(window: int) -> tuple[Request, ...]:
    return tuple(Request(PROBLEM, {"size": (size,), "window": (window,)}) for size in SIZES)


def benchmarker_suites() -> tuple[Suite, ...]:
    """Return the sweep of messages that are answered one by one, and that of windows of them."""
    return (
        Suite(
            "osu-latency",
            "messages answered one at a time, between two ranks",
            f"{_SOURCE}, osu_latency",
            _requests(LATENCY_WINDOW),
        ),
        Suite(
            "osu-bw",
            "windows of 64 messages one way, between two ranks",
            f"{_SOURCE}, osu_bw",
            _requests(BANDWIDTH_WINDOW),
        ),
    )
