"""How steps are sampled where nobody says it."""

from __future__ import annotations

from benchmarker.api.scenario import OFFLINE

DEFAULT_SAMPLING = {
    "training": "throughput",
    "inference": "latency",
    "gradient": "latency",
    "generation": "latency",
}
"""Who trains asks how many samples per second, who infers how long one takes."""


def usual_sampling(mode: str, scenario: str | None) -> str:
    """Return how steps of a mode are sampled; whoever hands over all at once asks how many samples per second."""
    return "throughput" if scenario == OFFLINE else DEFAULT_SAMPLING[mode]
