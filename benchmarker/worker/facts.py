"""What the worker knows of itself: packages, memory, clock."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any


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
    for line in text.splitlines():
        if not line or ("Name" in headers and "Version" in headers):
            break
        name, _, value = line.partition(":")
        headers[name] = value.strip()
    return headers


def python() -> dict[str, str]:
    """Return version and implementation of the running interpreter."""
    return {"version": sys.version.split()[0], "implementation": sys.implementation.name}


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
