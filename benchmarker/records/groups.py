"""Whether processes of one number fall into groups, fast and slow for their whole life, and what tells these apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from benchmarker.quick_dataclass import dataclass
from benchmarker.records.lookup import Record, value_at

MIN_PROCESSES = 8
"""Fewer processes say nothing of groups."""
MIN_MEMBERS, MIN_SHARE = 3, 6
"""A group has at least so many members, and at least one of so many processes."""
MIN_DISTANCE = 0.05
"""Groups that are nearer than that, relative, are not worth telling."""
MIN_SEPARATION = 7.5
"""Distance of two groups' medians over the mean deviation of their members from these. Processes of one kind exceed it
in at most 5 % of cases, be they normal, uniform, skewed, heavy-tailed or drifting (``benchmarks/groups.py``)."""
MAX_P = 0.02
"""Of a rank test: a fact that tells groups apart no better by chance."""


@dataclass(frozen=True)
class Group:
    """Processes that were alike.

    Parameters
    ----------
    members : tuple of int
        Their places among all.
    median_seconds : float
        The median of their medians.
    """

    members: tuple[int, ...]
    median_seconds: float


@dataclass(frozen=True)
class Difference:
    """A fact that tells two groups apart.

    Parameters
    ----------
    name : str
        What it is, e.g. ``minor page faults per step``.
    unit : str
        ``B`` for bytes, else nothing.
    fast, slow : float
        Its median in each group.
    """

    name: str
    unit: str
    fast: float
    slow: float


@dataclass(frozen=True)
class Groups:
    """Two groups of processes, the fast one first, and what tells them apart.

    Parameters
    ----------
    processes : int
        Of both groups together.
    fast, slow : Group
        The groups.
    differences : tuple of Difference
        Facts that differ between them; none if nothing that is recorded does.
    """

    processes: int
    fast: Group
    slow: Group
    differences: tuple[Difference, ...] = ()


def split(seconds: Sequence[float]) -> Groups | None:
    """Return two groups of step times, None where they are of one kind or too few.

    Of all places to cut the sorted logarithms, the one where the medians of both sides are farthest apart, measured by
    how far members lie from their own median.

    Parameters
    ----------
    seconds : sequence of float
        The median step of each process, positive.
    """
    count = len(seconds)
    if count < MIN_PROCESSES or min(seconds) <= 0:
        return None
    order = sorted(range(count), key=lambda place: seconds[place])
    logs = [math.log(seconds[place]) for place in order]
    least = max(MIN_MEMBERS, count // MIN_SHARE)
    separation, cut = max((_separation(logs, cut), cut) for cut in range(least, count - least + 1))
    fast, slow = (
        Group(tuple(sorted(part)), median(seconds[i] for i in part)) for part in (order[:cut], order[cut:])
    )
    if separation < MIN_SEPARATION or slow.median_seconds < fast.median_seconds * (1 + MIN_DISTANCE):
        return None
    return Groups(count, fast, slow)


def _separation(ordered: Sequence[float], cut: int) -> float:
    low, high = ordered[:cut], ordered[cut:]
    centres = median(low), median(high)
    deviations = [abs(x - centre) for part, centre in zip((low, high), centres) for x in part]
    within = math.fsum(deviations) / (len(ordered) - 2)
    distance = centres[1] - centres[0]
    near = [sum(abs(x - centre) <= distance / 4 for x in part) for part, centre in zip((low, high), centres)]
    # A few that stand alone with some of the others in tow are no group.
    return distance / max(within, 1e-9) if min(near) >= MIN_MEMBERS else 0.0


# --- what differs ------------------------------------------------------------------------------------


def _per_step(path: str) -> Callable[[Record], float | None]:
    def read(record: Record) -> float | None:
        value, steps = value_at(record, path), value_at(record, "timing.steps")
        return None if value is None or not steps else value / steps

    return read


def _at(path: str) -> Callable[[Record], float | None]:
    return lambda record: value_at(record, path)


def _cpus(record: Record) -> float | None:
    cpus = value_at(record, "execution.process.cpus")
    return float(len(cpus)) if cpus else None


FACTS: Mapping[str, tuple[str, Callable[[Record], float | None]]] = {
    "minor page faults per step": ("", _at("trust.evidence.minor_faults_per_step")),
    "resident memory": ("B", _at("execution.process.resident_bytes")),
    "huge pages": ("B", _at("execution.process.huge_page_bytes")),
    "voluntary switches per step": ("", _per_step("trust.evidence.voluntary_switches")),
    "CPU seconds per step": ("s", _per_step("trust.evidence.own_cpu_seconds")),
    "cores used": ("", _at("trust.evidence.threads_busy")),
    "CPUs used": ("", _cpus),
    "share of the machine's speed": ("", _at("trust.speed.share")),
}
"""What is recorded of each process and may tell groups apart, with its unit."""


def groups_of(records: Sequence[Record]) -> Groups | None:
    """Return the groups that processes of one number fall into, with what tells them apart; None if they are alike."""
    found = split([record["timing"]["step_seconds"]["median"] for record in records])
    if found is None:
        return None
    differences = filter(None, (_difference(name, found, records) for name in FACTS))
    return Groups(found.processes, found.fast, found.slow, tuple(differences))


def _difference(name: str, found: Groups, records: Sequence[Record]) -> Difference | None:
    """Return in what a fact differs between two groups; None if it does not, or is not known of all."""
    unit, read = FACTS[name]
    fast, slow = (
        [value for i in group.members if (value := read(records[i])) is not None]
        for group in (found.fast, found.slow)
    )
    if len(fast) + len(slow) < found.processes or not differs(fast, slow):
        return None
    return Difference(name, unit, median(fast), median(slow))


def differs(first: Sequence[float], other: Sequence[float]) -> bool:
    """Tell whether one side's values are the larger ones, by Mann and Whitney's test (normal, equal values halved)."""
    count = len(first) * len(other)
    above = math.fsum((a > b) + 0.5 * (a == b) for a in first for b in other)
    every = sorted((*first, *other))
    total = len(every)
    ties = math.fsum(size**3 - size for size in (every.count(value) for value in set(every)))
    variance = count / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return False
    return math.erfc(abs(above - count / 2) / math.sqrt(2 * variance)) <= MAX_P
