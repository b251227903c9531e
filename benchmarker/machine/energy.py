"""Energy from the readings of counters: pure arithmetic, in joules, watts and seconds.

A counter tells a little less than what was used: it is updated at intervals. What it says of a time is
uncertain by what flows between two updates, and a time of few updates is not told at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarker.quick_dataclass import dataclass

MIN_UPDATES = 10
"""A window of fewer updates of its counter is not told: one more or less would be a tenth of it."""
MAX_WATTS = 1000.0
"""What no processor package draws, so that a counter read this often cannot wrap around unseen."""


@dataclass(frozen=True)
class Idle:
    """What a domain draws while the worker waits.

    Parameters
    ----------
    watts : float
        Between the first and the last update that were seen.
    seconds : float
        Between these two.
    update_seconds : float
        Between two updates in the mean; no shorter than the time between two readings.
    """

    watts: float
    seconds: float
    update_seconds: float


@dataclass(frozen=True)
class Domain:
    """Energy of one part of the machine in the timed part.

    Parameters
    ----------
    joules : float
        All that it used.
    idle_watts : float
        What it draws when the worker waits.
    joules_net : float
        What it used beyond that; may be negative where that is less than chance.
    method : str
        The counter.
    resolution_joules : float
        How far ``joules`` may be off: what flowed between two updates of the counter, or its unit.
    update_seconds, window_seconds, idle_seconds : float
        Between two updates; of the timed part; over which ``idle_watts`` was measured.
    """

    joules: float
    idle_watts: float
    joules_net: float
    method: str
    resolution_joules: float
    update_seconds: float
    window_seconds: float
    idle_seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the fields, floats to the microjoule, microwatt and microsecond."""
        return {k: round(v, 6) if isinstance(v, float) else v for k, v in asdict(self).items()}


def advance(before: int, after: int, wraps_at: int | None) -> int:
    """Return by how much a counter has advanced, in its unit, when it was read before it could wrap twice.

    Parameters
    ----------
    wraps_at : int or None
        The largest value it holds, after which comes 0; ``None`` for one that does not wrap around.

    Raises
    ------
    ValueError
        If it went back and cannot have wrapped.
    """
    if after >= before:
        return after - before
    if wraps_at is None or before > wraps_at:
        raise ValueError(f"its counter went backwards, from {before} to {after}")
    return wraps_at + 1 - before + after


def polling_seconds(wraps_at: int | None, unit_joules: float) -> float | None:
    """Return how often a counter must be read for no wrap-around to be missed; ``None`` if it has none."""
    return None if wraps_at is None else wraps_at * unit_joules / MAX_WATTS / 2


def idle_from(updates: Sequence[tuple[float, float]]) -> Idle | None:
    """Return what was drawn between updates, each ``(seconds, joules)``; ``None`` if they are too few.

    From update to update, so that it does not matter when between them one began to look.
    """
    if len(updates) <= MIN_UPDATES:
        return None
    (started, first), (ended, last) = updates[0], updates[-1]
    seconds = ended - started
    return Idle((last - first) / seconds, seconds, seconds / (len(updates) - 1))


def domain(joules: float, seconds: float, method: str, unit_joules: float, idle: Idle) -> Domain:
    """Return the account of one window.

    Raises
    ------
    ValueError
        If the window is too short for its counter, or drew less than the idle machine did.
    """
    if seconds < MIN_UPDATES * idle.update_seconds:
        raise ValueError(
            f"the timed part of {seconds:.3f} s is shorter than {MIN_UPDATES} updates of its counter, "
            f"one every {idle.update_seconds:.3f} s"
        )
    net, resolution = joules - idle.watts * seconds, max(unit_joules, joules / seconds * idle.update_seconds)
    if net < -resolution:
        raise ValueError(
            f"the timed part drew {joules / seconds:.4g} W and the idle machine {idle.watts:.4g} W before it, so what "
            "the steps drew is not known"
        )
    return Domain(
        joules=joules,
        idle_watts=idle.watts,
        joules_net=net,
        method=method,
        resolution_joules=resolution,
        update_seconds=idle.update_seconds,
        window_seconds=seconds,
        idle_seconds=idle.seconds,
    )


def total_joules(readings: Mapping[str, Any] | None, *, net: bool = True) -> float | None:
    """Return the energy of all domains of the ``energy`` monitor's readings, ``None`` where there is none.

    Parameters
    ----------
    readings : mapping or None
        ``{"domains": {name: {"joules": ..., "joules_net": ...}}, ...}``.
    net : bool
        Whether what the machine draws anyway is left out.
    """
    domains = (readings or {}).get("domains") or {}
    return sum(row["joules_net" if net else "joules"] for row in domains.values()) if domains else None


def efficiency(joules: float | None, samples: int, flops: float | None) -> dict[str, float | None]:
    """Return what the energy was good for.

    Parameters
    ----------
    joules : float or None
        Of the timed part; ``None``, zero or less where it is not known or less than chance.
    samples : int
        How many were processed in it.
    flops : float or None
        Floating-point operations in it, ``None`` where they are not known.

    Returns
    -------
    dict
        ``joules_per_sample``, ``samples_per_joule`` and ``flop_per_joule``; ``None`` where unknown.
    """
    if joules is None or joules <= 0 or samples <= 0:
        return dict.fromkeys(("joules_per_sample", "samples_per_joule", "flop_per_joule"))
    return {
        "joules_per_sample": joules / samples,
        "samples_per_joule": samples / joules,
        "flop_per_joule": None if flops is None else flops / joules,
    }
