"""Whether the clock that times steps tells the truth: against the kernel's own count and the time that cores worked."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarker.quick_dataclass import dataclass

UPTIME = Path("/proc/uptime")
RESOLUTION_SECONDS = 0.01
"""The kernel counts its uptime in hundredths."""
MAX_CLOCK_SLACK_SECONDS = 3 * RESOLUTION_SECONDS
MAX_CLOCK_SHARE = 0.01
"""How far two right clocks may be apart: a reading on either side, and a share of the time between."""
MAX_CPU_SLACK_SECONDS = 0.1
MAX_CPU_SHARE = 0.05
"""The kernel books CPU time by ticks, so a little more than all cores' time may come out."""
MAX_DEVICE_SHARE = 0.05
MAX_READING_SECONDS = 1e-3
MAX_READINGS = 10
"""A reader that was interrupted between two clocks reads them again, so often."""


@dataclass(frozen=True)
class ClockReading:
    """Three independent counts at one moment, in seconds.

    Parameters
    ----------
    clock : float
        The clock that times steps.
    uptime : float or None
        The kernel's, None where it does not tell.
    cpu : float
        What all threads of this process have used.
    lasted : float
        How long the reading took: how far apart the three moments may be.
    """

    clock: float
    uptime: float | None
    cpu: float
    lasted: float = 0.0


def read_clocks() -> ClockReading:
    """Read all of them, which takes some microseconds where nothing comes between."""
    readings = []
    for _ in range(MAX_READINGS):
        readings.append(_read_once())
        if readings[-1].lasted <= MAX_READING_SECONDS:
            break
    return min(readings, key=lambda reading: reading.lasted)


def _read_once() -> ClockReading:
    start = time.perf_counter_ns()
    uptime, usage = _uptime(), resource.getrusage(resource.RUSAGE_SELF)
    end = time.perf_counter_ns()
    return ClockReading(start / 1e9, uptime, usage.ru_utime + usage.ru_stime, (end - start) / 1e9)


def _uptime(path: Path = UPTIME) -> float | None:
    try:
        return float(path.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None


def contradictions(
    first: ClockReading, last: ClockReading, sampled_seconds: float, device_seconds: float | None = None
) -> Iterator[str]:
    """Yield in what the clock that timed the steps contradicts others.

    Parameters
    ----------
    first, last : ClockReading
        Just before and after the timed part.
    sampled_seconds : float
        The sum of all samples.
    device_seconds : float, optional
        What the device's own clock says that the steps took together.
    """
    elapsed = last.clock - first.clock
    reading = first.lasted + last.lasted
    if first.uptime is not None and last.uptime is not None:
        kernel = last.uptime - first.uptime
        if abs(elapsed - kernel) > MAX_CLOCK_SLACK_SECONDS + reading + MAX_CLOCK_SHARE * max(elapsed, kernel):
            yield (
                f"the clock that times steps advanced {elapsed:.4g} s in the timed part, the kernel's {kernel:.4g} s"
            )
    cores, used = os.cpu_count() or 1, last.cpu - first.cpu
    if used > MAX_CPU_SLACK_SECONDS + (1 + MAX_CPU_SHARE) * cores * (elapsed + reading):
        yield (
            f"the worker used {used:.4g} s of CPU time in {elapsed:.4g} s of the clock that times steps, which is more "
            f"than {cores} cores can give"
        )
    if sampled_seconds > elapsed + MAX_CLOCK_SLACK_SECONDS:
        yield f"the samples add up to {sampled_seconds:.4g} s, but the timed part lasted {elapsed:.4g} s"
    if device_seconds is not None and device_seconds > (1 + MAX_DEVICE_SHARE) * elapsed + RESOLUTION_SECONDS:
        yield f"the steps took {device_seconds:.4g} s by the device's clock and {elapsed:.4g} s by the host's"
