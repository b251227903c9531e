"""Which share of its own speed a machine had, by known work and the best that it has shown before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarker.cache import home, key, store_json
from benchmarker.machine.kept_facts import is_amount, load_as
from benchmarker.machine.peaks import this_machine

_KINDS = ("arithmetic", "memory")


@dataclass(frozen=True)
class Best:
    """The best that a machine has shown of known work under like conditions, in seconds."""

    arithmetic_seconds: float
    memory_seconds: float


def folder() -> Path:
    """Return where they are kept, a file for each machine and condition."""
    return home() / "facts" / "speed"


def best_so_far(
    found: Mapping[str, Any], conditions: Mapping[str, Any], where: Path | None = None
) -> Best | None:
    """Return the best before a run, and keep that run's if it is better; None if nothing was kept.

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
    now = Best(found["arithmetic_seconds"], found["memory_seconds"])
    better = now
    if before is not None:
        better = Best(
            min(before.arithmetic_seconds, now.arithmetic_seconds),
            min(before.memory_seconds, now.memory_seconds),
        )
    if better != before:
        store_json(path, {**asdict(better), **kind})
    return before


def _kept(path: Path) -> Best | None:
    kept = load_as(path, Best)
    return kept if kept and is_amount(kept.arithmetic_seconds) and is_amount(kept.memory_seconds) else None


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
