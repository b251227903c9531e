"""A profile as a trace that Perfetto and Chrome show: the Trace Event Format, compressed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarker.api.profile import Call, Profile
from benchmarker.graph.graph import Graph

MAX_CALLS = 200_000
"""Of a trace; it would grow to tens of megabytes with more, and a step or two of them tell as much."""
_PROCESS = 1
_STEPS = (_PROCESS, 0)
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
    path.write_bytes(compressed_trace(_events(profile, graph, title)))


def compressed_trace(events: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the file of events in the Trace Event Format, gzip-compressed."""
    text = json.dumps({"displayTimeUnit": "ms", "traceEvents": list(events)}, separators=(",", ":"))
    return gzip.compress(text.encode("ascii"), mtime=0)


def _events(profile: Profile, graph: Graph, title: str) -> Iterator[dict[str, Any]]:
    calls = profile.calls[:MAX_CALLS]
    threads = sorted({call.thread for call in calls})
    yield name_event("process_name", (_PROCESS, 0), title)
    yield name_event("thread_name", _STEPS, "steps")
    for thread in threads:
        yield name_event("thread_name", _track(thread), f"{profile.source}, thread {thread}")
    for number, (start, seconds) in enumerate(profile.steps):
        yield span_event(f"step {number}", "step", _STEPS, start, seconds, {"step": number})
    operators = {node.name: node.operator for node in graph.nodes}
    for call in calls:
        yield _call(call, operators.get(call.node or ""))


def _call(call: Call, operator: str | None) -> dict[str, Any]:
    arguments = {
        "node": call.node,
        "operator": operator,
        "phase": call.phase,
        "step": call.step,
        "native": call.native,
    }
    name = f"{call.node} ({operator})" if operator else call.native
    return span_event(name, call.phase, _track(call.thread), call.start_seconds, call.seconds, arguments)


def _track(thread: int) -> tuple[int, int]:
    return _PROCESS, thread + 1


def name_event(kind: str, track: tuple[int, int], name: str) -> dict[str, Any]:
    """Return what names a process or a thread, which is a process of the trace and a number in it."""
    process, thread = track
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def span_event(
    name: str,
    category: str,
    track: tuple[int, int],
    start: float,
    seconds: float,
    arguments: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what stands on a track for some seconds."""
    process, thread = track
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": process,
        "tid": thread,
        "ts": round(start * _MICRO, 3),
        "dur": round(seconds * _MICRO, 3),
        "args": dict(arguments),
    }
