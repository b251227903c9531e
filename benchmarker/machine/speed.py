"""Which share of its own speed a machine had, by known work and the best that it has shown before.

The best is the lower quartile of its last probes, not their least: one copy among hundreds that met an idle neighbour
took half of the usual time, and by it a quarter of all later runs on an idle machine would have lacked a fifth of its
speed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarker.cache import home, key, store_json
from benchmarker.machine.kept_facts import is_amount, load_as
from benchmarker.machine.peaks import this_machine
from benchmarker.quick_dataclass import dataclass

MAX_KEPT = 100
"""Probes of each condition; older ones are forgotten."""
_KINDS = ("arithmetic", "memory")


@dataclass(frozen=True)
class Best:
    """The best that a machine shows of known work under like conditions, in seconds."""

    arithmetic_seconds: float
    memory_seconds: float


@dataclass(frozen=True)
class Shown:
    """What known work took under like conditions, in seconds; the last probe last, none or more."""

    arithmetic_seconds: tuple[float, ...] = ()
    memory_seconds: tuple[float, ...] = ()

    def best(self) -> Best | None:
        """Return the lower quartiles; None of no probes."""
        if not self.arithmetic_seconds or not self.memory_seconds:
            return None
        return Best(_lower_quartile(self.arithmetic_seconds), _lower_quartile(self.memory_seconds))

    def and_also(self, found: Mapping[str, Any]) -> Shown:
        """Return these and one more, without the oldest where there would be too many."""
        arithmetic = (*self.arithmetic_seconds, found["arithmetic_seconds"])
        memory = (*self.memory_seconds, found["memory_seconds"])
        return Shown(arithmetic[-MAX_KEPT:], memory[-MAX_KEPT:])

    def are_amounts(self) -> bool:
        """Tell whether all can have been measured."""
        return all(map(is_amount, (*self.arithmetic_seconds, *self.memory_seconds)))


def _lower_quartile(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 4]


def folder() -> Path:
    """Return where they are kept, a file for each machine and condition."""
    return home() / "facts" / "speed"


def best_so_far(
    found: Mapping[str, Any], conditions: Mapping[str, Any], where: Path | None = None
) -> Best | None:
    """Return the best before a run, and keep what that run found; None if nothing was kept.

    Parameters
    ----------
    found : mapping
        What :meth:`~benchmarker.worker.measurement.speed_probe.SpeedProbe.to_json` told.
    conditions : mapping
        What else may make the same work quicker or slower: threads that are busy beside it, and whose.
    where : Path, optional
        Instead of :func:`folder`.
    """
    kind = {"machine": asdict(this_machine()), "kernel": found["kernel"], **conditions}
    path = (where or folder()) / f"{key(kind)}.json"
    before = _kept(path)
    store_json(path, {**asdict(before.and_also(found)), **kind})
    return before.best()


def _kept(path: Path) -> Shown:
    kept = load_as(path, Shown)
    return kept if kept is not None and kept.are_amounts() else Shown()


def speed(found: Mapping[str, Any], best: Best | None) -> dict[str, Any]:
    """Return what was found with the shares of the best, at most 1; None where nothing is known to compare with."""
    shares: dict[str, float | None] = {
        f"{kind}_share": min(getattr(best, f"{kind}_seconds") / found[f"{kind}_seconds"], 1.0)
        if best is not None and found[f"{kind}_seconds"] > 0
        else None
        for kind in _KINDS
    }
    known = [share for share in shares.values() if share is not None]
    return {**found, **shares, "share": min(known, default=None)}
