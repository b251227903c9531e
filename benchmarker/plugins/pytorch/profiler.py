"""PyTorch's own profile of some steps, its operations brought back to the graph's nodes.

Forward, every node's calls stand in a range with its name. Backward, the autograd engine tells of each function
the sequence number that the forward call had which made it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarker.api.profile import Call, Profile

SOURCE = "torch.profiler"
_NODE, _STEP, _OPTIMIZER = "node:", "benchmarker:step", "Optimizer."
_ENGINE = "autograd::engine::evaluate_function: "
_ACCUMULATE = f"{_ENGINE}torch::autograd::AccumulateGrad"
_WARM = 2
_MICRO = 1e-6


def enter_range(name: str) -> Any:
    """Begin the range of a node's calls."""
    from torch.profiler import record_function

    # Entered and left by hand: generated code has no blocks.
    return record_function(f"{_NODE}{name}").__enter__()


def leave_range(range_: Any) -> None:
    """End the range."""
    range_.__exit__(None, None, None)


def with_ranges(traced: Any) -> None:
    """Put the calls that each node of the graph became into a range with its name.

    Parameters
    ----------
    traced : torch.fx.Graph
        Changed in place; its nodes say in ``meta["node"]`` which of the graph's they came from.
    """
    open_: Any = None
    name = None
    for node in list(traced.nodes):
        current = node.meta.get("node")
        if current == name:
            continue
        with traced.inserting_before(node):
            if name is not None:
                traced.call_function(leave_range, (open_,))
            if current is not None:
                open_ = traced.call_function(enter_range, (current,))
        name = current


def profiled(run: Callable[[], Any], steps: int, device: str) -> Profile:
    """Return the profile of ``steps`` calls of ``run``, made of functions with ranges.

    On a GPU the calls are its kernels, each of the node whose operation launched it.
    """
    from torch.profiler import ProfilerActivity, profile, record_function

    # Kineto would tell the run's log of its stages.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    for _ in range(_WARM):
        run()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]
    with profile(activities=activities) as profiler:
        for _ in range(steps):
            with record_function(_STEP):
                run()
    events = [event for event in profiler.events() if event.device_type.name == "CPU"]
    events.sort(key=lambda event: event.time_range.start)
    marks = [event for event in events if event.name == _STEP]
    outermost = list(_outermost(events, _forward_nodes(events)))
    calls = _host_calls(outermost, marks) if device == "cpu" else _kernels(profiler, outermost, marks)
    zero = marks[0].time_range.start
    times = tuple(
        ((mark.time_range.start - zero) * _MICRO, mark.time_range.elapsed_us() * _MICRO) for mark in marks
    )
    return Profile(SOURCE, tuple(sorted(calls, key=lambda call: call.start_seconds)), times)


def _range_of(event: Any) -> str | None:
    """Return the name of the node whose range an event is in, however deep."""
    while event is not None:
        if event.name.startswith(_NODE):
            return str(event.name[len(_NODE) :])
        event = event.cpu_parent
    return None


def _forward_nodes(events: Sequence[Any]) -> dict[tuple[int, int], str | None]:
    """Return the node that made each autograd function, by thread and sequence number.

    An operation that makes none leaves the number to the next one, so the last one with it made the function.
    """
    return {
        (event.thread, event.sequence_nr): _range_of(event)
        for event in events
        if event.sequence_nr >= 0 and not event.fwd_thread
    }


_Outermost = tuple[Any, "str | None", str]
"""An event that is in no other operation, its node and its phase."""


def _outermost(events: Sequence[Any], made: Mapping[tuple[int, int], str | None]) -> Iterator[_Outermost]:
    latest: dict[int, str | None] = {}
    for event in events:
        parent = event.cpu_parent
        if event.name.startswith(_OPTIMIZER):
            yield event, None, "update"
        elif event.is_user_annotation or not (parent is None or _is_open(parent)):
            continue
        elif event.name.startswith(_ACCUMULATE):
            # The engine runs it at once after the function that gave the gradient.
            yield event, latest.get(event.thread), "backward"
        elif event.name.startswith(_ENGINE):
            latest[event.thread] = made.get((event.fwd_thread, event.sequence_nr))
            yield event, latest[event.thread], "backward"
        else:
            node = _range_of(event)
            yield event, node, "other" if node is None else "forward"


def _is_open(parent: Any) -> bool:
    """Whether an event is a range of ours, whose operations are told one by one."""
    return bool(parent.name == _STEP or parent.name.startswith(_NODE))


def _largest(event: Any) -> tuple[float, str]:
    """Return the longest time that an operation inside an event takes itself, and the operation's name."""
    own = (event.self_cpu_time_total, event.name)
    return max([own, *map(_largest, event.cpu_children)])


def _step_of(start: float, marks: Sequence[Any]) -> int:
    return sum(1 for mark in marks if mark.time_range.start <= start) - 1


def _host_calls(outermost: Sequence[_Outermost], marks: Sequence[Any]) -> Iterator[Call]:
    zero, first = marks[0].time_range.start, marks[0].thread
    threads = {first: 0}
    for event, node, phase in outermost:
        step = _step_of(event.time_range.start, marks)
        if step < 0:
            continue
        native = _largest(event)[1].replace(_ENGINE, "")
        thread = threads.setdefault(event.thread, len(threads))
        start, seconds = (event.time_range.start - zero) * _MICRO, event.time_range.elapsed_us() * _MICRO
        yield Call(node, native, phase, start, seconds, thread, step)


def _kernels(profiler: Any, outermost: Sequence[_Outermost], marks: Sequence[Any]) -> Iterator[Call]:
    results = profiler.profiler.kineto_results
    launched: dict[int, list[Any]] = {}
    for kernel in results.events():
        if kernel.device_type().name == "CUDA":
            launched.setdefault(kernel.linked_correlation_id(), []).append(kernel)
    zero = marks[0].time_range.start
    for event, node, phase in outermost:
        for kernel in (k for inner in _with_children(event) for k in launched.get(inner.id, ())):
            start = (kernel.start_ns() - results.trace_start_ns()) / 1e3
            step = _step_of(event.time_range.start, marks)
            if step >= 0:
                seconds = kernel.duration_ns() * 1e-9
                yield Call(node, kernel.name(), phase, (start - zero) * _MICRO, seconds, 0, step)


def _with_children(event: Any) -> Iterator[Any]:
    yield event
    for child in event.cpu_children:
        yield from _with_children(child)
