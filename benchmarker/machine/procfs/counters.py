"""Counters of the whole machine since boot: time of its cores, pressure, disks, thermal events."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from benchmarker.machine.procfs.files import ROOT, integer, read_integer, read_text
from benchmarker.quick_dataclass import dataclass

CPUS = "sys/devices/system/cpu"
RESOURCES = ("cpu", "io", "memory")
SECTOR_BYTES = 512
"""The unit of ``/proc/diskstats``, whatever the disk's own sectors are."""
_NO_DISK = ("loop", "ram", "zram", "dm-", "md", "sr", "fd")
"""Devices in memory, and those made of others, whose transfers would count twice."""
MAX_CPUS_READ = 8
"""Reading a frequency may wake a core."""


def tick_seconds() -> float:
    """Return the unit of the kernel's CPU times in seconds."""
    return 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class CpuTimes:
    """Time of all cores together since boot, in the kernel's ticks.

    Parameters
    ----------
    at : float
        Monotonic clock of the reading, in seconds.
    total, idle, stolen : int
        ``idle`` counts waiting for disks as well, ``stolen`` what a hypervisor gave to others.
    """

    at: float
    total: int
    idle: int
    stolen: int

    @property
    def busy(self) -> int:
        """What was spent on anything here."""
        return self.total - self.idle - self.stolen


def cpu_times(root: Path = ROOT) -> CpuTimes | None:
    """Return the counters of all cores together, ``None`` where there is no ``/proc/stat``."""
    text = read_text(root / "proc/stat")
    return None if text is None else parse_cpu_times(text)


def parse_cpu_times(text: str) -> CpuTimes | None:
    """Read the counters from the text of ``/proc/stat``."""
    first = text.split("\n", 1)[0].split()
    # user nice system idle iowait irq softirq steal; guest time after them is part of user time
    ticks = [int(word) for word in first[1:9] if word.isdigit()]
    if first[:1] != ["cpu"] or len(ticks) < 5:
        return None
    return CpuTimes(
        at=time.monotonic(),
        total=sum(ticks),
        idle=ticks[3] + ticks[4],
        stolen=ticks[7] if len(ticks) > 7 else 0,
    )


def pressure(root: Path = ROOT) -> dict[str, int]:
    """Return for each resource the microseconds in which some task waited for it; what is not told is absent."""
    found = {}
    for name in RESOURCES:
        match = re.search(
            r"^some .*total=(\d+)", read_text(root / "proc/pressure" / name) or "", re.MULTILINE
        )
        if match:
            found[name] = int(match.group(1))
    return found


@dataclass(frozen=True)
class Transfers:
    """Bytes that went between memory and disks."""

    read: int
    written: int


def disk_transfers(root: Path = ROOT) -> Transfers | None:
    """Return what all disks have transferred; ``None`` where that is not told."""
    text = read_text(root / "proc/diskstats")
    return None if text is None else parse_transfers(text, whole_disks(text, root))


def whole_disks(text: str, root: Path = ROOT) -> set[str]:
    """Return the names of the disks in the text of ``/proc/diskstats``, without their partitions."""
    names = {words[2] for line in text.splitlines() if len(words := line.split()) > 9}
    # Partitions have a number after their disk's name; each disk has a folder here.
    return {name for name in names if not name.startswith(_NO_DISK) and (root / "sys/block" / name).exists()}


def parse_transfers(text: str, disks: Collection[str]) -> Transfers:
    """Add up what these disks have transferred by the text of ``/proc/diskstats``."""
    rows = [words for line in text.splitlines() if len(words := line.split()) > 9 and words[2] in disks]
    read, written = (sum(integer(row[column]) or 0 for row in rows) for column in (5, 9))
    return Transfers(read * SECTOR_BYTES, written * SECTOR_BYTES)


def thermal_throttles(cpus: Sequence[int], root: Path = ROOT) -> int | None:
    """Return how often these cores and their packages slowed down for heat; ``None`` where that is not told."""
    names = ("core_throttle_count", "package_throttle_count")
    files = [root / CPUS / f"cpu{cpu}/thermal_throttle" / name for cpu in cpus for name in names]
    counts = [count for file in files if (count := read_integer(file)) is not None]
    return sum(counts) if counts else None


def frequency_mhz(cpus: Sequence[int], root: Path = ROOT) -> float | None:
    """Return the mean frequency of the first of these cores in MHz; ``None`` where that is not told."""
    files = [root / CPUS / f"cpu{cpu}/cpufreq/scaling_cur_freq" for cpu in cpus[:MAX_CPUS_READ]]
    khz = [value for file in files if (value := read_integer(file)) is not None]
    return sum(khz) / len(khz) / 1000 if khz else None


def clock_source(root: Path = ROOT) -> str | None:
    """Return what the kernel reads time from."""
    return read_text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")
