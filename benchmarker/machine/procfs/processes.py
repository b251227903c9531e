"""Processes and the threads of one: who used the cores, and who waited for them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarker.machine.procfs.counters import Transfers, tick_seconds
from benchmarker.machine.procfs.files import ROOT, integer, read_pairs
from benchmarker.quick_dataclass import dataclass


@dataclass(frozen=True)
class Process:
    """A process at one moment.

    Parameters
    ----------
    name : str
        Of its program, at most 15 characters.
    parent : int
        Process identifier.
    started : int
        Ticks since boot, which tell it from a later process with its number.
    cpu_seconds : float
        Time on a core since its start, in the kernel's ticks.
    """

    name: str
    parent: int
    started: int
    cpu_seconds: float


def processes(root: Path = ROOT) -> dict[int, Process]:
    """Return every process that shows; none where there is no ``/proc``."""
    folder = str(root / "proc")
    try:
        names = os.listdir(folder)  # noqa: PTH208 - pathlib takes three times as long
    except OSError:
        return {}
    unit = tick_seconds()
    found = {int(name): _process(f"{folder}/{name}/stat", unit) for name in names if name.isdigit()}
    return {pid: process for pid, process in found.items() if process is not None}


def _process(path: str, unit: float) -> Process | None:
    """Return None for one that has ended meanwhile."""
    text = _read(path)
    # The name stands in parentheses and may hold any character, those included.
    start, end = text.find("("), text.rfind(")")
    words = text[end + 1 :].split()
    if start < 0 or len(words) < 20:
        return None
    return Process(
        text[start + 1 : end], int(words[1]), int(words[19]), (int(words[11]) + int(words[12])) * unit
    )


def _read(path: str) -> str:
    try:
        with open(path, "rb", buffering=0) as stream:
            return stream.read().decode(errors="replace")
    except OSError:
        return ""


def descendants(table: Mapping[int, Process], ancestor: int) -> set[int]:
    """Return a process and all that it started, as far as their parents are still there."""
    children: dict[int, list[int]] = {}
    for pid, process in table.items():
        children.setdefault(process.parent, []).append(pid)
    found: set[int] = set()
    left = [ancestor]
    while left:
        pid = left.pop()
        if pid not in found:
            found.add(pid)
            left += children.get(pid, [])
    return found


def cpu_seconds_between(
    first: Mapping[int, Process], last: Mapping[int, Process], pids: Iterable[int]
) -> dict[int, float]:
    """Return the CPU time of those processes that are there in the end; all of it for one that is new."""
    used = {}
    for pid in pids:
        if pid in last:
            before = first.get(pid)
            same = before is not None and before.started == last[pid].started
            used[pid] = last[pid].cpu_seconds - (before.cpu_seconds if before is not None and same else 0.0)
    return used


@dataclass(frozen=True)
class ThreadTime:
    """How long a thread ran and how long it could have run but waited for a core, in nanoseconds."""

    running: int
    waiting: int


def threads(root: Path = ROOT) -> dict[int, ThreadTime]:
    """Return all threads of this process; none where the kernel does not tell."""
    folder = str(root / "proc/self/task")
    try:
        names = os.listdir(folder)  # noqa: PTH208 - pathlib takes three times as long
    except OSError:
        return {}
    found = {int(name): parse_thread_time(_read(f"{folder}/{name}/schedstat")) for name in names}
    return {tid: time for tid, time in found.items() if time is not None}


def parse_thread_time(text: str) -> ThreadTime | None:
    """Read the text of a thread's ``schedstat``."""
    words = text.split()
    return ThreadTime(int(words[0]), int(words[1])) if len(words) >= 2 else None


def own_transfers(root: Path = ROOT) -> Transfers | None:
    """Return what this process had read from disks and written to them; ``None`` where that is not told."""
    table = read_pairs(root / "proc/self/io")
    read, written = integer(table.get("read_bytes")), integer(table.get("write_bytes"))
    return None if read is None or written is None else Transfers(read, written)
