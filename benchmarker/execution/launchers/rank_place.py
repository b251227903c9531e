"""Where a rank is, told by what runs there: the machine, its addresses, and a port that is free on it."""

from __future__ import annotations

import fcntl
import os
import platform
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SIOCGIFADDR = 0x8915
_SIOCGIFFLAGS = 0x8913
_UP = 1


def place_here() -> dict[str, Any]:
    """Return the place of this process as JSON values (:class:`benchmarker.api.launcher.RankPlace`)."""
    return {
        "host": host_here(),
        "network": f"{boot_here()} {Path('/proc/self/ns/net').readlink()}",
        "addresses": dict(_addresses()),
        "machine": {"boot": boot_here(), **machine_here()},
    }


def host_here() -> str:
    """Return the name of this node, as Slurm calls it where it does."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def boot_here() -> str:
    """Return what no other machine has, nor this one after another start."""
    return _read("/proc/sys/kernel/random/boot_id")


def machine_here() -> dict[str, Any]:
    """Return what machines of one record must have in common."""
    lines = _read("/proc/cpuinfo").splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    sizes = dict(line.split(":", 1) for line in _read("/proc/meminfo").splitlines() if ":" in line)
    memory = sizes.get("MemTotal", "0 kB").split()[0]
    return {
        "processor": models[0] if models else platform.machine(),
        "CPUs": os.cpu_count(),
        "GiB of memory": round(int(memory) / (1 << 20)),
        "kernel": platform.release(),
    }


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def _addresses() -> Iterator[tuple[str, str]]:
    """Yield each network interface that is up, with its address, the loopback interface last."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in sorted(socket.if_nameindex(), key=lambda one: (one[1] == "lo", one[0])):
            request = struct.pack("256s", name.encode())
            try:
                flags = struct.unpack("H", fcntl.ioctl(probe, _SIOCGIFFLAGS, request)[16:18])[0]
                address = socket.inet_ntoa(fcntl.ioctl(probe, _SIOCGIFADDR, request)[20:24])
            except OSError:
                continue  # it has none
            if flags & _UP:
                yield name, address
