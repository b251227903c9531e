"""What a machine can resolve: comparisons of a thing with itself, kept in the cache folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarker.environments.home import home

Record = Mapping[str, Any]


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


def machine_of(record: Record) -> str:
    """Return what a record says its machine is."""
    platform = record.get("platform") or {}
    cpu, memory = platform.get("cpu") or {}, platform.get("memory") or {}
    total, cores = memory.get("total_bytes"), cpu.get("logical_cores")
    parts = [
        cpu.get("model") or "unknown processor",
        f"{cores} cores" if cores else None,
        f"{round(total / 2**30)} GiB" if total else None,
        record["device"]["name"] if record["device"]["type"] != "cpu" else None,
    ]
    return ", ".join(part for part in parts if part)


def folder() -> Path:
    """Return where they are kept, a file each."""
    return home() / "facts" / "resolution"


def keep(resolution: Resolution, where: Path | None = None) -> Path:
    """Write an A/A comparison, in the place of an older one of the same machine, work and framework."""
    place = where or folder()
    kind = [resolution.machine, resolution.work, resolution.framework]
    digest = hashlib.sha256(json.dumps(kind).encode()).hexdigest()[:16]
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{digest}.json"
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(asdict(resolution), indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)
    return path


def resolution_for(record: Record, where: Path | None = None) -> Resolution | None:
    """Return what bounds a comparison on the machine of a record; None if nothing is kept of that machine.

    Of comparisons of the same work the widest counts; without one, the narrowest of other work, which shows
    what the machine can resolve at best.
    """
    machine = machine_of(record)
    kept = [one for one in _kept(where or folder()) if one.machine == machine]
    same = [one for one in kept if one.work == record["comparable"]["hash"]]
    if same:
        return max(same, key=lambda one: one.half_width)
    return min(kept, key=lambda one: one.half_width, default=None)


def _kept(where: Path) -> Iterator[Resolution]:
    for path in sorted(where.glob("*.json")):
        try:
            yield Resolution(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            continue  # of another version, or being removed
