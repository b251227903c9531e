"""A profile as a trace that Perfetto and Chrome show: the Trace Event Format, compressed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarker.api.profile import Call, Profile
from benchmarker.graph.graph import Graph

MAX_CALLS = 200_000
"""Of a trace; it would grow to tens of megabytes with more, and a step or two of them tell as much."""
_PROCESS, _STEPS = 1, 0
_MICRO = 1e6


def write_trace(path: Path, profile: Profile, graph: Graph, title: str) -> None:
    """Write a trace, gzip-compressed.

    Parameters
    ----------
    path : Path
        The file.
    profile : Profile
        Whose calls it shows: each thread's on a track of its own, the steps on one above them.
    graph : Graph
        Whose nodes the calls name.
    title : str
        Name of the process in it.
    """
    document = {"displayTimeUnit": "ms", "traceEvents": list(_events(profile, graph, title))}
    text = json.dumps(document, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode("ascii"), mtime=0))


def _events(profile: Profile, graph: Graph, title: str) -> Iterator[dict[str, Any]]:
    calls = profile.calls[:MAX_CALLS]
    threads = sorted({call.thread for call in calls})
    yield _name("process_name", 0, title)
    yield _name("thread_name", _STEPS, "steps")
    for thread in threads:
        yield _name("thread_name", _track(thread), f"{profile.source}, thread {thread}")
    for number, (start, seconds) in enumerate(profile.steps):
        yield _span(f"step {number}", "step", _STEPS, start, seconds, {"step": number})
    operators = {node.name: node.operator for node in graph.nodes}
    for call in calls:
        yield _call(call, operators.get(call.node or ""))


def _call(call: Call, operator: str | None) -> dict[str, Any]:
    told = {
        "node": call.node,
        "operator": operator,
        "phase": call.phase,
        "step": call.step,
        "native": call.native,
    }
    name = f"{call.node} ({operator})" if operator else call.native
    return _span(name, call.phase, _track(call.thread), call.start_seconds, call.seconds, told)


def _track(thread: int) -> int:
    return thread + 1


def _name(kind: str, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": _PROCESS, "tid": thread, "args": {"name": name}}


def _span(
    name: str, category: str, thread: int, start: float, seconds: float, told: dict[str, Any]
) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": _PROCESS,
        "tid": thread,
        "ts": round(start * _MICRO, 3),
        "dur": round(seconds * _MICRO, 3),
        "args": told,
    }
