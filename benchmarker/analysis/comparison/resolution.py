"""What a machine can resolve: comparisons of a thing with itself, kept in the cache folder."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from benchmarker.cache import home, key, store_json
from benchmarker.machine.kept_facts import kept_in
from benchmarker.quick_dataclass import dataclass
from benchmarker.records.keys import machine_name
from benchmarker.records.lookup import Record


@dataclass(frozen=True)
class Resolution:
    """An A/A comparison.

    Parameters
    ----------
    machine : str
        Processor, logical cores and memory.
    work : str
        Hash of what was computed, as ``comparable`` has it.
    framework : str
        With its version.
    problem : str
        Its name.
    pairs : int
        That counted.
    half_width : float
        Relative, of the 95 % interval of the ratio.
    deviation : float
        Standard deviation of the logarithms of the pairs' ratios.
    verdict : str
        Other than ``equivalent`` and ``inconclusive`` it is a false alarm.
    measured_at : str
        UTC, when the last process was started.
    """

    machine: str
    work: str
    framework: str
    problem: str
    pairs: int
    half_width: float
    deviation: float
    verdict: str
    measured_at: str


def folder() -> Path:
    """Return where they are kept, a file each."""
    return home() / "facts" / "resolution"


def keep(resolution: Resolution, where: Path | None = None) -> Path:
    """Write an A/A comparison, in the place of an older one of the same machine, work and framework."""
    kind = [resolution.machine, resolution.work, resolution.framework]
    path = (where or folder()) / f"{key(kind)}.json"
    store_json(path, asdict(resolution))
    return path


def resolution_for(record: Record, where: Path | None = None) -> Resolution | None:
    """Return what bounds a comparison on the machine of a record; None if nothing is kept of that machine.

    Of comparisons of the same work the widest counts; without one, the narrowest of other work, which shows
    what the machine can resolve at best.
    """
    machine = machine_name(record)
    kept = [one for one in _kept(where or folder()) if one.machine == machine]
    same = [one for one in kept if one.work == record["comparable"]["hash"]]
    if same:
        return max(same, key=lambda one: one.half_width)
    return min(kept, key=lambda one: one.half_width, default=None)


def _kept(where: Path) -> Iterator[Resolution]:
    return (kept for kept in kept_in(where, Resolution) if not math.isnan(kept.half_width))
