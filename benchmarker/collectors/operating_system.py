"""The operating system: kernel, distribution, C library, clock source, and the orchestrator's Python."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarker.api.collector import Run
from benchmarker.machine.procfs.files import ROOT, number, read_integer, read_pairs, read_text

CLOCK = "sys/devices/system/clocksource/clocksource0"


@contextmanager
def benchmarker_collect(run: Run) -> Iterator[dict[str, Any]]:
    yield facts(anonymous=run.anonymous)


def facts(root: Path = ROOT, *, anonymous: bool = False) -> dict[str, Any]:
    """Return the facts.

    Parameters
    ----------
    root : Path
        Folder that holds ``proc``, ``sys`` and ``etc``.
    anonymous : bool
        Whether to leave out what the kernel's builder added to its version, which may name them.
    """
    release = platform.release()
    boot = boot_time(root)
    return {
        "system": platform.system() or None,
        "kernel": (_upstream(release) if anonymous else release) or None,
        "distribution": _distribution(root),
        "libc": _libc(),
        "python": {
            "version": platform.python_version(),
            "implementation": platform.python_implementation(),
            "compiler": platform.python_compiler() or None,
        },
        "clock_source": read_text(root / CLOCK / "current_clocksource"),
        "address_space_randomization": read_integer(root / "proc/sys/kernel/randomize_va_space"),
        "booted_at": _utc(boot) if boot is not None else None,
        "uptime_seconds": _uptime(root, boot),
    }


def _upstream(release: str) -> str:
    """Return the kernel's own version of one like ``6.8.0-45-generic``."""
    numbers = re.match(r"[0-9]+(?:\.[0-9]+)*", release)
    return numbers[0] if numbers else ""


def _distribution(root: Path) -> dict[str, str | None]:
    """Return the name and version that the system gives itself."""
    for path in (root / "etc/os-release", root / "usr/lib/os-release"):
        table = read_pairs(path, "=")
        if table:
            unquoted = {key: value.strip("\"'") for key, value in table.items()}
            return {"name": unquoted.get("NAME"), "version": unquoted.get("VERSION_ID")}
    mac_version = platform.mac_ver()[0]
    return {"name": "macOS" if mac_version else None, "version": mac_version or None}


def _libc() -> dict[str, str | None]:
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (AttributeError, ValueError, OSError):
        name, version = platform.libc_ver()
    return {"name": name or None, "version": version or None}


def boot_time(root: Path = ROOT) -> float | None:
    """Return when the system started, in seconds since the epoch."""
    for line in (read_text(root / "proc/stat") or "").splitlines():
        if line.startswith("btime "):
            return number(line.split()[1])
    try:
        import psutil

        return float(psutil.boot_time())
    except (ImportError, OSError, RuntimeError):
        return None


def _uptime(root: Path, boot: float | None) -> float | None:
    text = read_text(root / "proc/uptime")
    if text:
        return number(text.split()[0])
    return round(time.time() - boot, 1) if boot is not None else None


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
