"""The operators of a step as a profiler saw them, and what was changed about the graph, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarker.analysis.text.units import duration, significant, size
from benchmarker.errors import plural
from benchmarker.records.lookup import Record

MAX_NODES = 10
"""Of a summary; the record has all."""


def lines(record: Record) -> Iterator[tuple[str, str]]:
    """Yield the nodes with the largest shares of a step, and what no node explains, each with its label."""
    profile = record.get("profile")
    if not profile:
        return
    if not profile["steps"]:
        yield "operators", f"none: {profile['reason']}"
        return
    yield "operators", heading(profile)
    for name, operator, *numbers in rows(profile, MAX_NODES):
        share, forward, backward, _ = numbers
        times = ", ".join(text for text in (forward, backward and f"backward {backward}") if text)
        what = f"{name} ({operator})" if operator else name
        yield "", f"{share:>6}  {what}: {times}" if times else f"{share:>6}  {what}"


def heading(profile: Mapping[str, Any]) -> str:
    """Return how the profile was made and how far it can be believed."""
    steps, slowdown = profile["steps"], profile["slowdown"]
    text = f"by {profile['source']}, mean of {plural(steps, 'step')} of "
    text += duration(profile["step_seconds"], 3)
    if slowdown is not None:
        text += f", {significant(slowdown, 3)} times the timed one"
    return f"{text}; operators ran side by side, so shares exceed the step" if _exceeds(profile) else text


def _exceeds(profile: Mapping[str, Any]) -> bool:
    """Whether the parts together are longer than the step by more than rounding would show."""
    update = (profile["update_seconds"] or 0.0) / profile["step_seconds"]
    total = sum(node["share"] for node in profile["nodes"]) + update + profile["unexplained_share"]
    return bool(total > 1.005)


def rows(profile: Mapping[str, Any], most: int) -> list[list[str]]:
    """Return name, operator, share, time forward, backward and native names of nodes, then of all the rest."""
    nodes = profile["nodes"]
    found = [
        [
            node["node"],
            node["operator"],
            f"{node['share']:.1%}",
            _time(node["forward_seconds"]),
            _time(node["backward_seconds"]),
            ", ".join(node["native"]),
        ]
        for node in nodes[:most]
    ]
    if len(nodes) > most:
        found.append(_others(nodes[most:]))
    step, update = profile["step_seconds"], profile["update_seconds"]
    if update is not None:
        found.append(["update", "", f"{update / step:.1%}", _time(update), "", ""])
    unexplained = profile["unexplained_seconds"]
    found.append(["unexplained", "", f"{profile['unexplained_share']:.1%}", _time(unexplained), "", ""])
    return found


def _others(nodes: Sequence[Mapping[str, Any]]) -> list[str]:
    forward, backward, share = (
        sum(node[name] for node in nodes) for name in ("forward_seconds", "backward_seconds", "share")
    )
    return [f"{len(nodes)} further nodes", "", f"{share:.1%}", _time(forward), _time(backward), ""]


def _time(seconds: float) -> str:
    return duration(seconds, 3) if seconds else ""


def transformations(record: Record) -> str:
    """Return what was changed about the graph."""
    found = record.get("transformations")
    if not found:
        return ""
    micro, folded, memory = found["micro_batch"], found["fold_batch_norm"], found["memory"]
    parts = []
    if micro:
        parts.append(f"trained in {micro['parts']} micro-batches of {micro['samples']}")
        if micro["statistics"]:
            parts.append(f"statistics of batch normalization {micro['statistics']}")
        if micro.get("loss_over"):
            parts.append(f"mean over the {micro['loss_over']} of each micro-batch, then over micro-batches")
    if folded:
        count = folded["folded"]
        parts.append(f"{plural(count, 'batch normalization')} folded into convolutions")
    predicted = f"{size(memory['predicted_bytes'])} of memory predicted"
    return "; ".join([*parts, f"{predicted}, without it {size(memory['predicted_bytes_without'])}"])
