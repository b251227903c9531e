"""What makes a number believable, in words: steadiness, disturbance, precision, and what was measured beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarker.analysis.text.units import count, duration, significant, size
from benchmarker.errors import plural
from benchmarker.machine.trust import worst
from benchmarker.records.cells import Cell
from benchmarker.records.groups import Groups, groups_of
from benchmarker.records.lookup import Record, number_at
from benchmarker.records.precision import BETWEEN, excluded, precision_of, shown, usable_for
from benchmarker.records.schema.trust import Precision
from benchmarker.statistics import WITHIN


def steadiness(timing: Mapping[str, Any]) -> str:
    """Return what the course of the samples says."""
    steady = timing.get("steady_state")
    if not steady:
        return ""
    kind = steady["kind"] or "unknown"
    return f"{kind.replace('_', ' ')}: {steady['reason']}"


def all_steady(timing: Mapping[str, Any]) -> bool:
    """Return whether the statistics of steps are of all samples, not of the steady ones alone."""
    step = timing["step_seconds"]
    return step is None or bool(step["count"] == len(timing["samples_seconds"] or ()))


def trust(record: Record) -> str:
    """Return what the number is good for, and what disturbed the run."""
    found = record.get("trust")
    if not found:
        return ""
    usable = usable_for(found.get("precision"), [excluded(record)])
    return "; ".join([found["grade"], usable, *(reason["text"] for reason in found["reasons"])])


def findings(record: Record) -> str:
    """Return what the run does to its own number, each with what to change."""
    return "; ".join(map(finding, (record.get("trust") or {}).get("findings") or ()))


def finding(found: Mapping[str, Any]) -> str:
    """Return one thing that a run does to its own number, with what to change."""
    return f"{found['text']}: try {found['advice']}" if found["advice"] else str(found["text"])


def cell_precision(cell: Cell) -> Precision | None:
    """Return how well the number of a cell is known: between its processes if there are several."""
    if cell.step_seconds is None:
        return None
    level = BETWEEN if len(cell.well) > 1 else WITHIN
    return precision_of(cell.step_seconds, cell.interval_seconds, level)


def usable_above(cell: Cell) -> str | None:
    """Return from which difference on the number of a cell is good for something; None where that is not known."""
    precision = cell_precision(cell)
    if precision is None or precision.least_difference is None:
        return None
    return shown(precision.least_difference)


def groups(records: Sequence[Record]) -> str | None:
    """Return into which groups the processes of a number fall, and what tells them apart; None if they are alike."""
    found = groups_of(records)
    return None if found is None else groups_text(found)


def groups_text(found: Groups) -> str:
    """Return how many processes are how fast, what tells them apart, and what to change."""
    fast, slow = found.fast, found.slow
    differences = ", ".join(
        f"{one.name} {_fact(one.fast, one.unit)} against {_fact(one.slow, one.unit)}"
        for one in found.differences
    )
    return (
        f"{len(fast.members)} of {found.processes} processes at {duration(fast.median_seconds, 3)}, "
        f"{len(slow.members)} at {duration(slow.median_seconds, 3)}; "
        f"what differs: {differences or 'nothing that is recorded'}{_advice(found)}"
    )


def _fact(value: float, unit: str) -> str:
    if unit == "B":
        return size(round(value))
    return duration(value, 3) if unit == "s" else significant(value, 3)


_ADVICE = {
    "minor page faults per step": "--allocator=no-trim",
    "cores used": "--affinity",
    "CPUs used": "--affinity",
}
"""What makes processes alike in a fact."""


def _advice(found: Groups) -> str:
    tried = dict.fromkeys(_ADVICE[one.name] for one in found.differences if one.name in _ADVICE)
    return f"; try {' and '.join(tried)}" if tried else ""


SKEWED = 0.05
"""By how much a rate may differ from what the median says before the row must say why."""


def rate_note(record: Record) -> str | None:
    """Return why the rate of a record is not that of its median step; None where both say the same.

    The rate is of all the time that the steps took, so few slow steps can move it alone.
    """
    timing, step = record["timing"], record["timing"]["step_seconds"]
    steps, total = timing.get("steps"), timing["total_seconds"]
    if step is None or not steps or not total or step["median"] <= 0:
        return None
    mean = total / steps
    if abs(mean / step["median"] - 1) <= SKEWED:
        return None
    samples = timing["samples_seconds"] or ()
    slow = [seconds for seconds in samples if seconds > 1.5 * step["median"]]
    median = f"samples/s is based on the mean of all steps, {duration(mean)}, the median is {duration(step['median'])}"
    if not slow:
        return median
    share = math.fsum(slow) / math.fsum(samples)
    return f"{median}: {len(slow)} of {len(samples)} samples, over 1.5 times the median, took {share:.0%} of the time"


def worst_grade(records: Sequence[Record]) -> str | None:
    """Return the worst grade of some records; None if none has one."""
    return worst(record["trust"]["grade"] for record in records if record.get("trust"))


def worst_reason(records: Sequence[Record]) -> str | None:
    """Return the first reason of a record with the worst grade; None where nothing speaks against any."""
    grade = worst_grade(records)
    for record in records:
        found = record.get("trust")
        if found and found["grade"] == grade and found["reasons"]:
            return str(found["reasons"][0]["text"])
    return None


def replication(record: Record) -> str:
    """Return why a profile's cell ended, and what it did not reach."""
    found = record.get("replication")
    if not found or found["target_half_width"] is None or found["stop_reason"] is None:
        return ""
    reason = found["stop_reason"].replace("_", " ")
    reached = f"within {found['half_width']:.1%}" if found["half_width"] is not None else "no interval"
    missed = f"; not met: {', '.join(found['not_met'])}" if found["not_met"] else ""
    profile = f" of profile {found['profile']}" if found["profile"] else ""
    processes = plural(found["processes"], "process")
    return f"{processes}{profile}, {reached}, ended by {reason}{missed}"


def breakdown(timing: Mapping[str, Any]) -> str:
    """Return the parts of a step."""
    found = timing.get("breakdown")
    if not found:
        return ""
    if not found["parts"]:
        return f"none: {found['reason']}"
    parts = {name: duration(part["median_seconds"], 3) for name, part in found["parts"].items()}
    waiting = parts.pop("synchronisation")
    shown = ", ".join(f"{name} {seconds}" for name, seconds in parts.items())
    return f"{shown}; {waiting} of it waiting for the device; median of {found['steps']} steps"


def efficiency(record: Record) -> Iterator[tuple[str, str]]:
    """Yield shares of peaks, energy and cost, each with its label, as far as they are known."""
    metrics = record["metrics"]
    shares = [
        f"{metrics[name]:.1%} of the {what}"
        for name, what in (("flops_share_of_peak", "peak FLOP/s"), ("bytes_share_of_peak", "peak bytes/s"))
        if metrics.get(name) is not None
    ]
    if shares:
        yield "of the peak", ", ".join(shares)
    if metrics.get("joules_per_sample") is not None:
        energy = f"{significant(metrics['joules_per_sample'])} J per sample, idle draw left out"
        rate = metrics["flop_per_joule"]
        yield "energy", energy + (f", {count(rate, 'FLOP/J')}" if rate else "")
    if metrics.get("cost_per_million_samples") is not None and metrics.get("cost_of_run") is not None:
        yield (
            "cost",
            (
                f"{significant(metrics['cost_per_million_samples'])} for a million samples, "
                f"{significant(metrics['cost_of_run'])} for this run"
            ),
        )


def tree_memory(record: Record) -> str | None:
    """Return the largest memory of the worker and all that it started, as sampled; None if it was not measured."""
    peak = number_at(record, "monitors.tree_memory.peak_bytes")
    return f"{size(peak)} sampled peak of all its processes" if peak else None
