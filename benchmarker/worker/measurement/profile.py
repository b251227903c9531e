"""A framework's profile of some steps, told by the graph's nodes: what takes how much of a step."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarker.api.profile import Call, Profile
from benchmarker.graph.graph import Graph

MIN_STEPS, MAX_STEPS = 3, 20


def steps_for(seconds: float, step_seconds: float) -> int:
    """Return how many steps of ``step_seconds`` to profile in about ``seconds``."""
    return max(MIN_STEPS, min(MAX_STEPS, int(seconds / max(step_seconds, 1e-9))))


def unprofiled(reason: str) -> dict[str, Any]:
    """Return what a record holds where there is no profile."""
    return {
        "source": None,
        "steps": 0,
        "step_seconds": None,
        "slowdown": None,
        "nodes": [],
        "update_seconds": None,
        "unexplained_seconds": None,
        "unexplained_share": None,
        "reason": reason,
        "trace": None,
    }


def by_node(profile: Profile, graph: Graph, timed_step_seconds: float) -> dict[str, Any]:
    """Return the time of a step by node, the largest share first.

    Seconds are means over the profiled steps, so that nodes, update and what is not explained add up to a step;
    of a framework that runs operators side by side, nodes may add up to more.

    Parameters
    ----------
    profile : Profile
        What the framework's profiler told.
    graph : Graph
        Whose nodes the calls name.
    timed_step_seconds : float
        Median of the steps that were timed without a profiler.
    """
    lengths = [seconds for _, seconds in profile.steps]
    steps, total = len(lengths), sum(lengths)
    operators = {node.name: node.operator for node in graph.nodes}
    calls: dict[str, list[Call]] = {}
    for call in profile.calls:
        if call.node in operators:
            calls.setdefault(call.node, []).append(call)
    rows = [_row(name, operators[name], found, steps, total) for name, found in calls.items()]
    update = [call for call in profile.calls if call.phase == "update"]
    explained = [call for call in profile.calls if call.node in operators or call.phase == "update"]
    unexplained = max(0.0, total - _covered(explained))
    return {
        "source": profile.source,
        "steps": steps,
        "step_seconds": total / steps,
        "slowdown": statistics.median(lengths) / timed_step_seconds if timed_step_seconds else None,
        "nodes": sorted(rows, key=lambda row: -row["share"]),
        "update_seconds": _seconds(update, "update") / steps if update else None,
        "unexplained_seconds": unexplained / steps,
        "unexplained_share": unexplained / total,
        "reason": None,
        "trace": None,
    }


def _row(name: str, operator: str, calls: Sequence[Call], steps: int, total: float) -> dict[str, Any]:
    natives = dict.fromkeys(call.native for call in sorted(calls, key=lambda call: -call.seconds))
    return {
        "node": name,
        "operator": operator,
        "native": list(natives)[:4],
        "forward_seconds": _seconds(calls, "forward", "other") / steps,
        "backward_seconds": _seconds(calls, "backward") / steps,
        "share": sum(call.seconds for call in calls if call.phase != "update") / total,
        "calls": len(calls) / steps,
    }


def _seconds(calls: Iterable[Call], *phases: str) -> float:
    return sum(call.seconds for call in calls if call.phase in phases)


def _covered(calls: Sequence[Call]) -> float:
    """Return the time in which at least one of the calls was running."""
    if len({call.thread for call in calls}) == 1:
        return sum(call.seconds for call in calls)  # those of one thread do not overlap
    covered, until = 0.0, 0.0
    for start, end in sorted((call.start_seconds, call.start_seconds + call.seconds) for call in calls):
        covered += max(0.0, end - max(start, until))
        until = max(until, end)
    return covered
