"""MXNet's own profiler over some steps, read back as the graph's nodes.

Its events bear the names of operators, not of symbols. So a monitor makes the executor wait after each
operator and notes its symbol's name: an event belongs to the first note after it.
"""

from __future__ import annotations

import dataclasses
import json
import re
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from benchmarker.api.profile import Call, Profile
from benchmarker.cache import temporary_folder
from benchmarker.graph.graph import Graph
from benchmarker.quick_dataclass import dataclass

_WARM = 2
_OBJECT = re.compile(r"\{[^{}]*\}")
"""Events one by one: all files but the first of a process are not quite JSON."""
_NAME = re.compile(r"^node(\d+)\|")
_PRODUCTS = frozenset({"Convolution", "Deconvolution", "FullyConnected", "batch_dot", "dot"})
_BACKEND = "MKLDNN"


def naming(index: int) -> Any:
    """Return the context in which symbols bear the name of the graph's node at ``index``."""
    from mxnet.name import Prefix

    return Prefix(f"node{index}|")


@dataclass(frozen=True)
class Parts:
    """What a step calls one after the other; none waits for the device."""

    forward: Callable[[], None]
    backward: Callable[[], None]
    update: Callable[[], None]


@dataclasses.dataclass
class _Notes:
    """When each operator was finished and its symbol's name, when each part was, and when each step began.

    Times are seconds of the wall clock, in which the profiler's events are.
    """

    operators: list[tuple[float, str]] = field(default_factory=list)
    parts: list[tuple[float, str]] = field(default_factory=list)
    begun: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class _Event:
    """What the profiler says of one operator, in seconds."""

    name: str
    start: float
    end: float


def joined_nodes(symbol: Any) -> dict[str, str]:
    """Return the name of the product in each operator that the subgraph backend will make of several."""
    made = json.loads(symbol.get_backend_symbol(_BACKEND).tojson())["nodes"]
    joined = {}
    for node in made:
        inner = [n for part in node.get("subgraphs", ()) for n in part["nodes"] if n["op"] != "null"]
        products = [n["name"] for n in inner if n["op"] in _PRODUCTS]
        if inner:
            joined[node["name"]] = (products or [inner[0]["name"]])[0]
    return joined


def profiled(graph: Graph, executor: Any, parts: Parts, joined: Mapping[str, str], steps: int) -> Profile:
    """Return the profile of ``steps`` steps of an executor whose symbols :func:`naming` has named."""
    for _ in range(_WARM):
        _step(parts, _Notes())
    notes = _Notes()

    def note(name: bytes | str, array: Any) -> None:
        _wait()
        text = name.decode() if isinstance(name, bytes) else name
        notes.operators.append((time.time(), text))

    executor.set_monitor_callback(note)
    with temporary_folder() as folder:
        events = _traced(folder / "profile.json", lambda: _step(parts, notes), steps)
    return _read(graph, events, notes, joined)


def _wait() -> None:
    from mxnet import nd

    nd.waitall()


def _step(parts: Parts, notes: _Notes) -> None:
    notes.begun.append(time.time())
    for name in ("forward", "backward", "update"):
        getattr(parts, name)()
        _wait()
        notes.parts.append((time.time(), name))


def _traced(path: Path, run: Callable[[], None], steps: int) -> list[_Event]:
    from mxnet import profiler

    profiler.set_config(
        profile_symbolic=True,
        profile_imperative=True,
        profile_memory=False,
        profile_api=False,
        aggregate_stats=False,
        filename=str(path),
    )
    profiler.set_state("run")
    try:
        for _ in range(steps):
            run()
    finally:
        profiler.set_state("stop")
        profiler.dump(False)
    return sorted(_events(path.read_text(encoding="utf-8")), key=lambda event: event.start)


def _events(text: str) -> Iterator[_Event]:
    open_: dict[tuple[Any, str], float] = {}
    for event in map(json.loads, _OBJECT.findall(text)):
        if event.get("ph") not in ("B", "E"):
            continue
        key, at = (event["tid"], event["name"]), event["ts"] * 1e-6
        if event["ph"] == "B":
            open_[key] = at
        elif key in open_:
            yield _Event(event["name"], open_.pop(key), at)


def _read(graph: Graph, events: list[_Event], notes: _Notes, joined: Mapping[str, str]) -> Profile:
    zero = notes.begun[0]
    finished = [at for at, _ in notes.operators]
    bounds = [at for at, _ in notes.parts]
    calls = []
    for event in events:
        part = bisect_left(bounds, event.end)
        if event.start < zero or part == len(bounds):
            continue
        place, phase = bisect_left(finished, event.end), notes.parts[part][1]
        of_executor = phase != "update" and place < len(finished)
        name = notes.operators[place][1] if of_executor else ""
        step = part // 3
        start = max(event.start, notes.begun[step])
        calls.append(
            Call(_node(graph, name, joined), event.name, phase, start - zero, event.end - start, 0, step)
        )
    ends = bounds[2::3]
    times = tuple((begun - zero, end - begun) for begun, end in zip(notes.begun, ends))
    return Profile("mxnet.profiler", tuple(calls), times)


def _node(graph: Graph, name: str, joined: Mapping[str, str]) -> str | None:
    """Return the node of a symbol by the name of its output."""
    whole = next((inner for outer, inner in joined.items() if name.startswith(f"{outer}_output")), name)
    found = _NAME.match(whole)
    return graph.nodes[int(found.group(1))].name if found else None
