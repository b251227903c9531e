"""The region of practical equivalence: how far from 1 a ratio may be and still count as the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarker.comparison.resolution import Resolution

Record = Mapping[str, Any]

DEFAULT = 0.02
_NOT_MEASURED = "default; what this machine resolves was not measured: compare --aa"
_TIMES = 2
"""A region is at least so many times what cannot be resolved."""


@dataclass(frozen=True)
class Margin:
    """Half the width of a region, relative, and what decided it."""

    value: float
    reason: str


def margin_of(asked: float | None, resolution: Resolution | None, records: Sequence[Record]) -> Margin:
    """Return the margin of a row: as asked for, but not below what can be resolved.

    Parameters
    ----------
    asked : float or None
        Relative, 0.02 for 2 %; None takes the default.
    resolution : Resolution or None
        The A/A comparison that is kept for the machine.
    records : sequence of mapping
        The processes of both sides: twice what clock and synchronisation are of a sample bounds it too.
    """
    found = [_least(asked, resolution)]
    if resolution is not None:
        found.append(
            Margin(
                _TIMES * resolution.half_width,
                f"resolution of this machine, twice the half-width of the A/A comparison of {resolution.problem} "
                f"on {resolution.framework}, {resolution.pairs} pairs",
            )
        )
    share = max(map(_timer_share, records), default=0.0)
    found.append(Margin(_TIMES * share, "twice the share of clock and synchronisation in a sample"))
    return max(found, key=lambda margin: margin.value)


def _least(asked: float | None, resolution: Resolution | None) -> Margin:
    if asked is not None:
        return Margin(asked, "asked")
    return Margin(DEFAULT, "default" if resolution is not None else _NOT_MEASURED)


def _timer_share(record: Record) -> float:
    timing = record["timing"]
    overhead = timing.get("overhead") or {}
    seconds = (overhead.get("null_p50_seconds") or 0.0) + (overhead.get("synchronisation_seconds") or 0.0)
    return float(seconds / (timing["step_seconds"]["median"] * (timing.get("block_steps") or 1)))
