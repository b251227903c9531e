"""A process and all that it started: what they use, read from files that stay open."""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path

from benchmarker.machine.procfs import processes
from benchmarker.machine.procfs.files import ROOT, read_text
from benchmarker.quick_dataclass import dataclass

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def process_tree(pid: int, root: Path = ROOT) -> list[int]:
    """Return ``pid`` and all that it started, as far as their parents are still there.

    Reads the kernel's lists of children; where it keeps none, the parents of all processes.
    """
    if not (root / f"proc/{pid}/task/{pid}/children").exists():
        return sorted(processes.descendants(processes.processes(root), pid))
    found = [pid]
    for member in found:
        found += [child for child in _children(member, root) if child not in found]
    return found


def _children(pid: int, root: Path) -> list[int]:
    """Return what a process's threads have started; nothing if it has ended."""
    try:
        threads = os.listdir(root / f"proc/{pid}/task")  # noqa: PTH208 - pathlib takes three times as long
    except OSError:
        return []
    texts = (read_text(root / f"proc/{pid}/task/{thread}/children") for thread in threads)
    return [int(word) for text in texts for word in (text or "").split()]


@dataclass(frozen=True)
class Usage:
    """What a tree used.

    Parameters
    ----------
    cpu_seconds : float
        CPU time since the last reading.
    resident_bytes : int
        Resident memory of all its processes; pages that they share count for each.
    """

    cpu_seconds: float
    resident_bytes: int


@dataclasses.dataclass
class _Member:
    clock: int
    statm: int
    cpu_seconds: float


class ProcessTree:
    """A process and all that it started.

    A child's CPU time counts from when :meth:`refresh` first sees it, so that what it used before is not
    charged to one interval; what it used after its last reading is not seen.

    Parameters
    ----------
    pid : int
        The topmost process.

    Raises
    ------
    ProcessLookupError
        If there is no such process.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._members: dict[int, _Member] = {}
        self.refresh()
        if not self._members:
            raise ProcessLookupError(f"there is no process {pid}")

    @property
    def pids(self) -> set[int]:
        """Processes seen so far that have not ended."""
        return set(self._members)

    def refresh(self) -> None:
        """Look for new processes."""
        for pid in process_tree(self._pid):
            if pid not in self._members:
                self._open(pid)

    def usage(self) -> Usage:
        """Return what was used since the last call."""
        cpu_seconds, pages = 0.0, 0
        for pid, member in list(self._members.items()):
            try:
                resident = int(os.pread(member.statm, 128, 0).split()[1])
                now = time.clock_gettime(member.clock)
            except (OSError, IndexError):
                os.close(member.statm)
                del self._members[pid]
                continue
            pages += resident
            cpu_seconds += now - member.cpu_seconds
            member.cpu_seconds = now
        return Usage(cpu_seconds, pages * PAGE_BYTES)

    def close(self) -> None:
        for member in self._members.values():
            os.close(member.statm)
        self._members = {}

    def _open(self, pid: int) -> None:
        # The kernel's number for the CPU clock of another process, resolved in nanoseconds.
        clock = (~pid << 3) | 2
        try:
            statm = os.open(f"/proc/{pid}/statm", os.O_RDONLY)
        except OSError:
            return
        try:
            self._members[pid] = _Member(clock, statm, time.clock_gettime(clock))
        except OSError:
            os.close(statm)
