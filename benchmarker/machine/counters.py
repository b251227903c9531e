"""What the whole machine does: cores, memory, disks and network, read from files that stay open."""

from __future__ import annotations

import os
import re
from pathlib import Path

from benchmarker.machine.procfs.counters import (
    CpuTimes,
    Transfers,
    parse_cpu_times,
    parse_transfers,
    whole_disks,
)
from benchmarker.machine.procfs.files import ROOT
from benchmarker.quick_dataclass import dataclass

MAX_FILE_LINES = 1 << 20
MAX_BYTES_READ = {"stat": 256, "meminfo": 512, "diskstats": MAX_FILE_LINES, "net/dev": MAX_FILE_LINES}
"""How many bytes of each file hold what is read; of the first two those are their first lines."""


@dataclass(frozen=True)
class MachineReading:
    """Counters since boot, and memory as it is; ``None`` for what the machine does not tell.

    Parameters
    ----------
    cpu : CpuTimes or None
        Of all cores.
    available_bytes : int or None
        Memory that could be had without swapping.
    disks : Transfers or None
        Bytes of all disks.
    received, sent : int or None
        Bytes of all network interfaces.
    """

    cpu: CpuTimes | None
    available_bytes: int | None
    disks: Transfers | None
    received: int | None
    sent: int | None


class Machine:
    """The files that tell it.

    Parameters
    ----------
    root : Path
        Folder that holds ``proc`` and ``sys``.
    """

    def __init__(self, root: Path = ROOT) -> None:
        self._files = {name: _opened(root / "proc" / name) for name in MAX_BYTES_READ}
        disks, network = (self._text(name, MAX_FILE_LINES) or "" for name in ("diskstats", "net/dev"))
        self._disks, self._interfaces = whole_disks(disks, root), _interfaces(network, root)
        # Memory for the longest file would be new pages each time, which take longer than the reading.
        self._most = {**MAX_BYTES_READ, "diskstats": 2 * len(disks) + 1, "net/dev": 2 * len(network) + 1}

    def read(self) -> MachineReading:
        """Return the counters now."""
        stat, memory, disks, network = (self._text(name, most) for name, most in self._most.items())
        received, sent = _network(network, self._interfaces)
        return MachineReading(
            cpu=parse_cpu_times(stat) if stat else None,
            available_bytes=_available(memory),
            disks=parse_transfers(disks, self._disks) if disks and self._disks else None,
            received=received,
            sent=sent,
        )

    def close(self) -> None:
        for file in self._files.values():
            if file is not None:
                os.close(file)
        self._files = dict.fromkeys(self._files)

    def _text(self, name: str, most: int) -> str | None:
        file = self._files[name]
        if file is None:
            return None
        try:
            return os.pread(file, most, 0).decode(errors="replace")
        except OSError:
            return None


def _opened(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY)
    except OSError:
        return None


def _available(text: str | None) -> int | None:
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text or "", re.MULTILINE)
    return int(match.group(1)) * 1024 if match else None


def _interfaces(text: str, root: Path) -> set[str]:
    """Return the interfaces that count: those with hardware; where none has (containers) all but lo."""
    names = {line.partition(":")[0].strip() for line in text.splitlines() if ":" in line} - {"lo"}
    hardware = {name for name in names if (root / "sys/class/net" / name / "device").exists()}
    return hardware or names


def _network(text: str | None, interfaces: set[str]) -> tuple[int | None, int | None]:
    """Return the bytes received and sent by the text of ``/proc/net/dev``."""
    if text is None or not interfaces:
        return None, None
    received = sent = 0
    for line in text.splitlines():
        name, _, counts = line.partition(":")
        if name.strip() in interfaces:
            words = counts.split()
            received += int(words[0])
            sent += int(words[8])
    return received, sent
