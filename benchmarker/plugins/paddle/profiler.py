"""Paddle's own profile of some steps, its operations brought back to the graph's nodes.

Forward, every node's calls stand in an event with its name. Backward, the hook of what a node gave leaves one inside
the operation that goes back through it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

from benchmarker.api.profile import Call, Profile

SOURCE = "paddle.profiler"
BACKWARD, UPDATE = "benchmarker:backward", "benchmarker:update"
_FORWARD, _BACKWARD, _STEP = "forward:", "backward:", "benchmarker:step"
_WARM = 2
_NANO = 1e-9
_DECORATION = re.compile(r"^Global_| dygraph$")


def watching(names: Collection[str]) -> Callable[[str, Callable[..., Any]], Callable[..., Any]]:
    """Return what makes a node's call tell the profiler of itself: a call of a composite's body of the composite.

    Parameters
    ----------
    names : collection of str
        The graph's nodes.
    """
    from paddle.profiler import RecordEvent

    def watched(name: str, native: Callable[..., Any]) -> Callable[..., Any]:
        while name not in names:
            name = name.rpartition("/")[0]

        def note(gradient: Any) -> None:
            with RecordEvent(f"{_BACKWARD}{name}"):
                pass

        def call(*tensors: Any) -> Any:
            with RecordEvent(f"{_FORWARD}{name}"):
                found = native(*tensors)
            for tensor in found if isinstance(found, tuple) else (found,):
                if not tensor.stop_gradient:
                    tensor.register_hook(note)
            return found

        return call

    return watched


def part(name: str) -> Any:
    """Return the context of :data:`BACKWARD` or :data:`UPDATE` in a step."""
    from paddle.profiler import RecordEvent

    return RecordEvent(name)


def profiled(step: Callable[[], Any], steps: int) -> Profile:
    """Return the profile of some steps."""
    from paddle.profiler import Profiler, ProfilerTarget, RecordEvent

    for _ in range(_WARM):
        step()
    # Else it would write a file into the folder of the run.
    with Profiler(targets=[ProfilerTarget.CPU], on_trace_ready=lambda profiler: None) as profiler:
        for _ in range(steps):
            with RecordEvent(_STEP):
                step()
    roots = profiler.profiler_result.get_data().values()
    marks = [event for root in roots for event in _inside(root) if event.name == _STEP]
    zero = marks[0].start_ns
    calls = [call for number, mark in enumerate(marks) for call in _calls(mark, zero, number)]
    times = tuple(((mark.start_ns - zero) * _NANO, _seconds(mark)) for mark in marks)
    return Profile(SOURCE, tuple(calls), times)


def _calls(step: Any, zero: int, number: int) -> Iterator[Call]:
    latest = None
    for event, path in _operations(step, ()):
        forward = next((name[len(_FORWARD) :] for name in path if name.startswith(_FORWARD)), None)
        node, phase = forward, "other" if forward is None else "forward"
        if UPDATE in path:
            node, phase = None, "update"
        elif BACKWARD in path:
            # What a node gave is noted where it is gone back through first; its other operations follow at once.
            noted = (e.name[len(_BACKWARD) :] for e in _inside(event) if e.name.startswith(_BACKWARD))
            node, phase = next(noted, latest), "backward"
            latest = node
        native = _DECORATION.sub("", event.name)
        yield Call(node, native, phase, (event.start_ns - zero) * _NANO, _seconds(event), 0, number)


def _operations(event: Any, path: tuple[str, ...]) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Yield each operation that is in no other, with the names of the events that it is in."""
    for inner in event.children_node:
        if inner.type.name == "Operator":
            yield inner, path
        else:
            yield from _operations(inner, (*path, inner.name))


def _inside(event: Any) -> Iterator[Any]:
    for inner in event.children_node:
        yield inner
        yield from _inside(inner)


def _seconds(event: Any) -> float:
    return float(event.end_ns - event.start_ns) * _NANO
