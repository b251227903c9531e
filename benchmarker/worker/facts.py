"""What the worker knows of itself: packages, memory, clock."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarker.worker.python_build import python_build


def packages() -> dict[str, str]:
    """Return every distribution of the running interpreter and its version."""
    from importlib import metadata

    found: dict[str, str] = {}
    for distribution in metadata.distributions():
        # The two headers read plainly: a whole parser of messages costs a millisecond a distribution.
        texts = map(distribution.read_text, ("METADATA", "PKG-INFO", ""))
        headers = _headers(next(filter(None, texts), ""))
        if "Name" in headers and "Version" in headers:
            found.setdefault(headers["Name"], headers["Version"])
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def _headers(text: str) -> dict[str, str]:
    """Return the headers before the first empty line, as far as name and version."""
    headers: dict[str, str] = {}
    for line in text.partition("\n\n")[0].splitlines():
        if not line or ("Name" in headers and "Version" in headers):
            break
        name, _, value = line.partition(":")
        headers[name] = value.strip()
    return headers


def python() -> dict[str, Any]:
    """Return version, implementation and build of the running interpreter."""
    build = python_build()
    return {
        "version": sys.version.split()[0],
        "implementation": sys.implementation.name,
        "build": build.text,
        "profile_guided": build.profile_guided,
    }


def clock() -> dict[str, Any]:
    """Return the clock that times steps and its resolution in seconds."""
    info = time.get_clock_info("perf_counter")
    return {"clock": f"perf_counter_ns, {info.implementation}", "clock_resolution_seconds": info.resolution}


def reset_peak_memory() -> bool:
    """Set the peak of resident memory back to the present use; return whether the kernel allowed it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def peak_memory() -> int | None:
    """Return the peak of resident memory in bytes since the last reset, or None if it cannot be read."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return None


def process() -> dict[str, Any]:
    """Return what may tell this process from another of the same run; what the system does not tell is None."""
    memory = _smaps_rollup()
    return {
        "resident_bytes": memory.get("Rss"),
        "huge_page_bytes": memory.get("AnonHugePages"),
        "cpus": _last_cpus(),
        "c_library": _c_library(),
    }


def _smaps_rollup() -> dict[str, int]:
    """Return bytes by name, summed up over all of the process's memory."""
    try:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return {}
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in map(str.split, lines)}


def _last_cpus() -> list[int]:
    """Return the CPUs on which the process's threads ran last."""
    try:
        with os.scandir("/proc/self/task") as entries:
            threads = [entry.name for entry in entries]
    except OSError:
        return []
    found = set()
    for thread in threads:
        try:
            with open(f"/proc/self/task/{thread}/stat", "rb") as file:
                # The name stands in parentheses and may hold any byte; the CPU is the 37th word after it.
                found.add(int(file.read().rpartition(b")")[2].split()[36]))
        except (OSError, IndexError, ValueError):
            continue  # a thread that has ended
    return sorted(found)


def _c_library() -> str | None:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or None
    except (AttributeError, OSError, ValueError):
        return None
