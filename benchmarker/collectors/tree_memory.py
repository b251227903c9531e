"""Memory of the worker and all that it started: proportional set sizes, in a pass apart from the timed part.

``ru_maxrss`` would lie (a child starts with its parent's), and the sum of resident sets counts pages that
processes share for each of them. Reading a proportional set size walks the page tables of the process,
which holds it up: hence the pass apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarker.api.collector import Run, Unavailable
from benchmarker.machine.process_tree import process_tree
from benchmarker.machine.procfs.files import ROOT
from benchmarker.machine.sampler import Sampler
from benchmarker.quick_dataclass import dataclass

INTERVAL_SECONDS = 0.05
METHOD = "sum of Pss in smaps_rollup over the process tree, every 0.05 s; a shorter peak may be missed"


@dataclass(frozen=True)
class TreeMemory:
    """Memory of a process tree at one moment.

    Parameters
    ----------
    bytes : int
        Proportional set size: what is shared counts in parts.
    processes : int
        How many it was read of.
    """

    bytes: int
    processes: int


def tree_memory(pid: int, root: Path = ROOT) -> TreeMemory:
    """Return the memory of ``pid`` and all that it started; those that end meanwhile are left out."""
    sizes = [_proportional_bytes(root / f"proc/{member}/smaps_rollup") for member in process_tree(pid, root)]
    known = [size for size in sizes if size is not None]
    return TreeMemory(sum(known), len(known))


def _proportional_bytes(path: Path) -> int | None:
    try:
        text = path.read_text()
    except OSError:
        return None
    match = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(match.group(1)) * 1024 if match else None


@contextmanager
def benchmarker_watch_untimed(run: Run, pid: int) -> Iterator[dict[str, Any]]:
    """Yield the memory at the start of the pass; peak and number of samples follow on leaving."""
    first = tree_memory(pid)
    if first.processes == 0:
        raise Unavailable(f"/proc/{pid}/smaps_rollup cannot be read")
    samples = [first]
    readings: dict[str, Any] = {"method": METHOD, "baseline_bytes": first.bytes}
    sampler = Sampler(lambda _: samples.append(tree_memory(pid)), INTERVAL_SECONDS)
    try:
        yield readings
    finally:
        sampler.stop()
    samples.append(tree_memory(pid))
    peak = max(samples, key=lambda sample: sample.bytes)
    readings.update(
        peak_bytes=peak.bytes,
        peak_above_baseline_bytes=peak.bytes - first.bytes,
        processes_at_peak=peak.processes,
        samples=len(samples),
    )
