"""What makes a number believable, in words: steadiness, trust, replication, and what was measured beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarker.report.units import count, duration, significant, size

_GRADES = ("clean", "noisy", "contaminated")


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
    return step is None or bool(step["count"] == len(timing["samples_seconds"]))


def trust(record: Mapping[str, Any]) -> str:
    """Return the grade and what speaks against the number."""
    found = record.get("trust")
    if not found:
        return ""
    return "; ".join([found["grade"], *(reason["text"] for reason in found["reasons"])])


def worst_grade(records: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the worst grade of some records; None if none has one."""
    grades = [record["trust"]["grade"] for record in records if record.get("trust")]
    return max(grades, key=_GRADES.index, default=None)


def worst_reason(records: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the first reason of a record with the worst grade; None where nothing speaks against any."""
    worst = worst_grade(records)
    for record in records:
        found = record.get("trust")
        if found and found["grade"] == worst and found["reasons"]:
            return str(found["reasons"][0]["text"])
    return None


def replication(record: Mapping[str, Any]) -> str:
    """Return why a profile's cell ended, and what it did not reach."""
    found = record.get("replication")
    if not found or found["target_half_width"] is None or found["stop_reason"] is None:
        return ""
    reason = found["stop_reason"].replace("_", " ")
    reached = f"within {found['half_width']:.1%}" if found["half_width"] is not None else "no interval"
    missed = f"; not met: {', '.join(found['not_met'])}" if found["not_met"] else ""
    profile = f" of profile {found['profile']}" if found["profile"] else ""
    processes = "1 process" if found["processes"] == 1 else f"{found['processes']} processes"
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


def beside(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
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
        energy = f"{significant(metrics['joules_per_sample'])} J a sample, idle draw left out"
        rate = metrics["flop_per_joule"]
        yield "energy", energy + (f", {count(rate, 'FLOP/J')}" if rate else "")
    if metrics.get("cost_per_million_samples") is not None:
        yield (
            "cost",
            f"{significant(metrics['cost_per_million_samples'])} for a million samples, "
            f"{significant(metrics['cost_of_run'])} for this run",
        )


def tree_memory(record: Mapping[str, Any]) -> str | None:
    """Return the largest memory of the worker and all that it started, as sampled; None if it was not measured."""
    peak = ((record.get("monitors") or {}).get("tree_memory") or {}).get("peak_bytes")
    return f"{size(peak)} sampled peak of all its processes" if peak else None
