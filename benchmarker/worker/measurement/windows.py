"""A timed part in turns: one window at a time, when the orchestrator says so, and what the machine did in these."""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.channel import Channel
from benchmarker.worker.measurement import evidence
from benchmarker.worker.measurement.sampling import Samples

MIN_BLOCKS = 3
"""Samples of a window at least."""


@dataclass(frozen=True)
class Windows:
    """What all windows gave together.

    Parameters
    ----------
    samples : Samples
        Of all windows, in their order.
    evidence : dict
        What the machine did in them, not between them.
    spans : list of dict or None
        Of each window the first sample, the first after it, and when it began and ended; None of one that had no turns.
    """

    samples: Samples
    evidence: dict[str, Any]
    spans: list[dict[str, Any]] | None


def steps_of_window(step_seconds: float, block_steps: int, seconds: float) -> int:
    """Return how many steps a window has: as many whole blocks as fill its time."""
    blocks = max(MIN_BLOCKS, math.ceil(seconds / max(step_seconds * block_steps, 1e-9)))
    return blocks * block_steps


def in_turns(
    channel: Channel, orchestrator: int, untimed: Callable[[], object], timed: Callable[[], Samples]
) -> Windows:
    """Time windows until the orchestrator has enough; the first begins at once.

    Parameters
    ----------
    channel : Channel
        Each window's end is told, and what comes next is waited for.
    orchestrator : int
        Its process.
    untimed : callable
        Takes a step that does not count: caches hold what ran in the other's turn.
    timed : callable
        Takes the samples of a window.
    """
    parts: list[Samples] = []
    seen: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    answer = "go"
    while answer == "go":
        untimed()
        before, began = evidence.read(orchestrator), time.monotonic()
        part = timed()
        ended = time.monotonic()
        seen.append(evidence.between(before, evidence.read(orchestrator), steps=part.steps))
        first = spans[-1]["end"] if spans else 0
        end = first + len(part.nanoseconds)
        spans.append({"start": first, "end": end, "began_seconds": began, "ended_seconds": ended})
        parts.append(part)
        channel.send("window_ended")
        answer = channel.wait_for("go", "stop")
    return Windows(joined(parts), together(seen), spans)


def joined(parts: Sequence[Samples]) -> Samples:
    """Return the samples of windows as if there had been nothing between them."""
    times: array[int] = array("q")
    for part in parts:
        times.extend(part.nanoseconds)
    return Samples(
        times,
        parts[-1].output,
        sum(part.wall_nanoseconds for part in parts),
        sum(part.steps for part in parts),
        parts[-1].block_steps,
    )


_COUNTED = (
    "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults", "throttled_periods",
    "throttled_seconds", "disk_read_bytes_by_others", "disk_written_bytes_by_others", "wall_clock_jump_seconds",
    "thermal_throttles", "own_cpu_seconds", "run_delay_seconds",
)  # fmt: skip
"""What adds up; all other numbers are means over the time."""


def together(seen: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the machine did in several windows, as :func:`~.evidence.between` tells it of one."""
    last = seen[-1]
    seconds = [one["seconds"] for one in seen]
    found: dict[str, Any] = {**last, "seconds": math.fsum(seconds)}
    for name, value in last.items():
        values = [one[name] for one in seen]
        if name in ("seconds", "cpus", "tasks") or isinstance(value, (str, dict, list)):
            continue
        if None in values:
            found[name] = None
        elif name in _COUNTED:
            found[name] = sum(values)
        else:
            found[name] = math.fsum(v * s for v, s in zip(values, seconds)) / found["seconds"]
    found["frequency_mhz"] = {
        "first": seen[0]["frequency_mhz"]["first"],
        "last": last["frequency_mhz"]["last"],
    }
    found["foreign"] = _foreign(seen, found["seconds"])
    return found


def _foreign(seen: Sequence[Mapping[str, Any]], seconds: float) -> list[dict[str, Any]] | None:
    """Return the largest of the other processes over all windows."""
    used: dict[tuple[Any, int], float] = {}
    for one in seen:
        if one["foreign"] is None:
            return None
        for process in one["foreign"]:
            key = (process["name"], process["pid"])
            used[key] = used.get(key, 0.0) + process["cores"] * one["seconds"] / seconds
    largest = sorted(used.items(), key=lambda item: -item[1])[: evidence.MAX_FOREIGN]
    return [{"name": name, "pid": pid, "cores": cores} for (name, pid), cores in largest]
