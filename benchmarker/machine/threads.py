"""How many threads a run may have: by cores, by affinity and by the control group's quota."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

from benchmarker.machine.procfs.control_groups import limits
from benchmarker.machine.procfs.files import ROOT


def usable_cpus() -> list[int]:
    """Return the CPUs that this process may use."""
    try:
        return sorted(os.sched_getaffinity(0))
    except AttributeError:
        return list(range(os.cpu_count() or 1))


def default_threads(affinity: Sequence[int] = (), root: Path = ROOT) -> int:
    """Return the number of physical cores among the CPUs that a run may use; of CPUs where that is not told.

    Never more than the control group's quota gives time for: its threads would all stand still together
    once it is used up.

    Parameters
    ----------
    affinity : sequence of int
        CPUs it is bound to; empty for all that this process may use.
    root : Path
        Folder that holds ``proc`` and ``sys``.
    """
    cpus = affinity or usable_cpus()
    cores = {_core(cpu, root) for cpu in cpus}
    count = len(set(cpus)) if None in cores else len(cores)
    return min(count, available_threads(affinity, root))


def available_threads(affinity: Sequence[int] = (), root: Path = ROOT) -> int:
    """Return how many threads can run at a time, by affinity and by the control group's quota, rounded up."""
    cpus = len(set(affinity or usable_cpus()))
    quota = limits(root)["cpus"]
    return cpus if quota is None else min(cpus, math.ceil(quota))


def thread_fault(threads: int, affinity: Sequence[int] = (), root: Path = ROOT) -> str | None:
    """Return what is wrong with a number of threads, or None."""
    if threads < 1:
        return f"the number of threads must be at least 1, got {threads}"
    granted = available_threads(affinity, root)
    if threads <= granted:
        return None
    who = "affinity" if granted == len(set(affinity or usable_cpus())) else "the control group's quota"
    return f"{threads} threads were asked for, but {who} grants {granted}; ask for {granted} or fewer"


def _core(cpu: int, root: Path) -> tuple[str, str] | None:
    topology = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
    try:
        return (topology / "physical_package_id").read_text(), (topology / "core_id").read_text()
    except OSError:
        return None
