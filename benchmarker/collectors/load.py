"""What else the machine was doing: load, busy and stolen time, and pressure, at the start and at the end."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarker.api.collector import Run
from benchmarker.machine.procfs.counters import CpuTimes, cpu_times
from benchmarker.machine.procfs.files import ROOT, integer, number, read_text


class LoadCollector:
    """Compares the kernel's counters at the start, before the timed steps and at the end."""

    def __init__(self) -> None:
        self._before_timing: CpuTimes | None = None

    @contextmanager
    def benchmarker_collect(self, run: Run) -> Iterator[dict[str, Any]]:
        """Yield the load at the start; shares of time and the load at the end follow on leaving.

        ``preparation`` is the time from here to the timed steps and ``timing`` the time from there to
        the end, the worker's own work included; ``preparation`` is the whole run if no step was timed.
        """
        self._before_timing = None
        started = cpu_times()
        readings: dict[str, Any] = {"start": load_now()}
        yield readings
        ended, middle = cpu_times(), self._before_timing
        readings["preparation"] = shares(started, middle or ended)
        readings["timing"] = shares(middle, ended)
        readings["end"] = load_now()

    def benchmarker_before_timing(self, run: Run) -> None:
        """Note the counters where preparation ends."""
        self._before_timing = cpu_times()


def shares(first: CpuTimes | None, second: CpuTimes | None) -> dict[str, float] | None:
    """Return which share of the machine's time was busy and which was stolen, from 0 to 1."""
    if first is None or second is None or second.total <= first.total:
        return None
    total = second.total - first.total
    # The kernel lets its idle counter step back at times.
    idle = min(max(second.idle - first.idle, 0), total)
    return {
        "seconds": round(second.at - first.at, 3),
        "cpu_busy_share": round(1 - idle / total, 4),
        "cpu_stolen_share": round(max(second.stolen - first.stolen, 0) / total, 4),
    }


def load_now(root: Path = ROOT) -> dict[str, Any]:
    """Return load averages, numbers of tasks and pressure as they are now."""
    words = (read_text(root / "proc/loadavg") or "").split()
    running, _, tasks = (words[3] if len(words) > 3 else "").partition("/")
    return {
        "load_average": _load_average(),
        "tasks_running": integer(running),
        "tasks": integer(tasks),
        "cpu_pressure_avg10_percent": _pressure(root),
    }


def _load_average() -> list[float] | None:
    """Return the averages over 1, 5 and 15 minutes."""
    try:
        return [round(value, 2) for value in os.getloadavg()]
    except OSError:
        return None


def _pressure(root: Path) -> float | None:
    """Return the share of the last 10 s in which some task waited for a core, in per cent."""
    match = re.search(r"^some avg10=([\d.]+)", read_text(root / "proc/pressure/cpu") or "", re.MULTILINE)
    return number(match.group(1)) if match else None
