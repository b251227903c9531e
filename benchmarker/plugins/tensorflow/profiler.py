"""TensorFlow's own trace of some steps, read back as the graph's nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarker.api.profile import Call, Profile
from benchmarker.cache import temporary_folder
from benchmarker.graph.graph import Graph

UPDATE, STATISTICS = "update/", "statistics/"
"""Scopes of what moves parameters, and running statistics."""
_STEP = "benchmarker_step"
_WARM = 2
_SCOPE = re.compile(r"(?:^|[/_])node(\d+)/")
_FUSED = re.compile(r"Fused(Conv|MatMul|BatchMatMul|Depthwise)")
"""Types of operations that TensorFlow made of a product and what follows it, under the name of the last."""
_PRODUCTS = frozenset({"conv", "gemm", "matmul"})
_SUMS = frozenset({"AddN", "UnsortedSegmentSum"})
"""Types of operations, without a scope, that sum the gradients of what is used more than once."""
_PICOSECONDS = 1e-12


def scope_of(index: int) -> str:
    """Return the name scope of the graph's node at ``index``."""
    return f"node{index}/"


@dataclass
class _Event:
    """What the trace says of one operation; times in picoseconds, ``own`` without what ran inside it."""

    name: str
    type: str
    start: int
    length: int
    line: int
    own: int = 0


def profiled(tensorflow: Any, graph: Graph, run: Callable[[], Any], steps: int) -> Profile:
    """Return the profile of ``steps`` calls of ``run``, whose operations stand in the scopes of the nodes."""
    for _ in range(_WARM):
        run()
    space = _traced(tensorflow, run, steps)
    (plane,) = (plane for plane in space.planes if plane.name == "/host:CPU")
    marks = sorted(_steps_of(plane))
    zero = marks[0][0]
    events = list(_events(plane))
    node_of = _Nodes(graph, events)
    calls = []
    for event in events:
        step = sum(start <= event.start for start, _, _ in marks) - 1
        if step < 0:
            continue
        at, seconds = (event.start - zero) * _PICOSECONDS, event.own * _PICOSECONDS
        calls.append(
            Call(node_of(event), event.type, _phase(event), at, seconds, _thread(event, marks), step)
        )
    calls.sort(key=lambda call: call.start_seconds)
    times = tuple(((start - zero) * _PICOSECONDS, length * _PICOSECONDS) for start, length, _ in marks)
    return Profile("tf.profiler", tuple(calls), times)


def _traced(tensorflow: Any, run: Callable[[], Any], steps: int) -> Any:
    """Run under the profiler and return the trace (an ``XSpace``)."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    profiler = tensorflow.profiler.experimental
    options = profiler.ProfilerOptions(host_tracer_level=2, python_tracer_level=0, device_tracer_level=0)
    with temporary_folder() as folder:
        profiler.start(str(folder), options=options)
        try:
            for _ in range(steps):
                with profiler.Trace(_STEP):
                    run()
        finally:
            profiler.stop()
        (path,) = Path(folder).rglob("*.xplane.pb")
        space = xplane_pb2.XSpace()
        space.ParseFromString(path.read_bytes())
    return space


def _timed(plane: Any) -> Iterator[tuple[str, int, int, int]]:
    """Yield name, start, length and line of all that the plane holds."""
    for number, line in enumerate(plane.lines):
        for event in line.events:
            name = plane.event_metadata[event.metadata_id].name
            yield name, line.timestamp_ns * 1000 + event.offset_ps, event.duration_ps, number


def _steps_of(plane: Any) -> list[tuple[int, int, int]]:
    """Return start, length and line of each step."""
    return [(start, length, line) for name, start, length, line in _timed(plane) if name == _STEP]


def _events(plane: Any) -> Iterable[_Event]:
    """Return the operations, named ``name:type`` by the executor, with the time that each took itself."""
    found = []
    for name, start, length, line in _timed(plane):
        operation, colon, type_ = name.rpartition(":")
        if colon and re.fullmatch(r"[\w/.>-]+", operation) and re.fullmatch(r"_?[A-Z]\w*", type_):
            found.append(_Event(operation, type_, start, length, line, length))
    found.sort(key=lambda event: (event.line, event.start, -event.length))
    open_: list[_Event] = []
    for event in found:
        while open_ and (open_[-1].line != event.line or open_[-1].start + open_[-1].length <= event.start):
            open_.pop()
        if open_:
            open_[-1].own -= event.length
        open_.append(event)
    return found


def _phase(event: _Event) -> str:
    if "gradient_tape/" in event.name:
        return "backward"
    if event.name.startswith(UPDATE):
        return "update"
    if event.type in _SUMS:
        return "backward"
    ahead = event.name.startswith(STATISTICS) or _SCOPE.search(event.name)
    return "forward" if ahead else "other"


def _thread(event: _Event, marks: Sequence[tuple[int, int, int]]) -> int:
    """Return 0 for the thread that runs the steps, others from 1."""
    steps = marks[0][2]
    return 0 if event.line == steps else event.line + (event.line < steps)


class _Nodes:
    """Which node an operation came from.

    A product that TensorFlow joined with what follows it bears the name of the last. It is nearly all of
    the time, so the nearest product before that, which has no operation of its own, is its node.
    """

    def __init__(self, graph: Graph, events: Sequence[_Event]) -> None:
        self._graph = graph
        self._maker = {name: index for index, node in enumerate(graph.nodes) for name in node.outputs}
        self._alone = {
            index
            for event in events
            if not _FUSED.search(event.type) and _phase(event) == "forward"
            for index in [_index_of(event.name)]
            if index is not None and _is_product(event.type)
        }

    def __call__(self, event: _Event) -> str | None:
        index = _index_of(event.name)
        if index is None or index >= len(self._graph.nodes):
            return None
        if _FUSED.search(event.type) and _phase(event) == "forward":
            index = self._product_before(index)
        return self._graph.nodes[index].name

    def _product_before(self, index: int) -> int:
        front = [index]
        while front:
            for place in front:
                if self._graph.nodes[place].operator in _PRODUCTS and place not in self._alone:
                    return place
            inputs = (name for place in front for name in self._graph.nodes[place].inputs)
            front = sorted({self._maker[name] for name in inputs if name in self._maker})
        return index


def _index_of(name: str) -> int | None:
    found = _SCOPE.search(name)
    return int(found.group(1)) if found else None


def _is_product(type_: str) -> bool:
    return re.search(r"Conv[23]D|MatMul", type_) is not None
