"""Records of the processes of a campaign, for tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tests.support.records import SAMPLES, make_record

CAMPAIGN = "c" * 32
_MEDIAN = sorted(SAMPLES)[len(SAMPLES) // 2]
WOBBLE = (0.004, -0.002, 0.001, -0.005, 0.003, -0.001, 0.002, -0.004, 0.0, 0.002)
"""Logarithms by which the processes of a side differ."""


def process(
    seconds: float = 0.05, *, campaign: str = CAMPAIGN, number: int = 0, day: int = 1, **changes: Any
) -> dict[str, Any]:
    """Return the record of one process.

    Parameters
    ----------
    seconds : float
        About its median step.
    campaign, number
        Of its ``replication``; the number is that of the round.
    day : int
        Of the month in which it ran.
    changes
        As of :func:`tests.support.records.make_record`.
    """
    minute = f"2026-03-{day:02d}T12:{number:02d}"
    return make_record(
        [sample * seconds / _MEDIAN for sample in SAMPLES],
        **{
            "started_at": f"{minute}:00.000000Z",
            "ended_at": f"{minute}:20.000000Z",
            "replication__campaign": campaign,
            "replication__round": number,
            "repetition": number,
            **changes,
        },
    )


def processes(
    seconds: float = 0.05, *, wobble: Sequence[float] = WOBBLE, **changes: Any
) -> list[dict[str, Any]]:
    """Return the records of the rounds of a campaign, which differ a little."""
    return [process(seconds * math.exp(w), number=i, **changes) for i, w in enumerate(wobble)]


def with_grade(record: dict[str, Any], grade: str) -> dict[str, Any]:
    """Return a record as one that the machine disturbed."""
    return {**record, "trust": {**record["trust"], "grade": grade}}


def with_steadiness(record: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return a record whose samples took another course; three levels, each slower than the one before."""
    levels = [
        {
            "start": 20 * i,
            "end": 20 * (i + 1),
            "median_seconds": record["timing"]["step_seconds"]["median"] * (1 + i),
        }
        for i in range(3)
    ]
    steady = {**record["timing"]["steady_state"], "kind": kind, "segments": levels}
    return {**record, "timing": {**record["timing"], "steady_state": steady}}
