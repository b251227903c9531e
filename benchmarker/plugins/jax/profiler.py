"""Profiles by JAX's own profiler: what it noted of XLA's instructions, as calls of the graph's nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarker.api.profile import Call, Profile
from benchmarker.cache import temporary_folder
from benchmarker.plugins.jax.attribution import UNKNOWN, Origin
from benchmarker.quick_dataclass import dataclass

SOURCE = "jax.profiler"
_STEP = "benchmarker_step"


@dataclass(frozen=True)
class Event:
    """One instruction as a thread or stream ran it.

    Parameters
    ----------
    instruction : str
        Its name in the program.
    start, end : float
        In seconds; one that is inside of another ends before it.
    """

    instruction: str
    start: float
    end: float


def profiled(
    step: Callable[[], Any], steps: int, origins: Mapping[str, Origin], names: Sequence[str]
) -> Profile:
    """Run ``step`` under JAX's profiler.

    Parameters
    ----------
    step : callable
        Runs one step and waits for it.
    steps : int
        How often.
    origins : mapping
        What :func:`~benchmarker.plugins.jax.attribution.origins` says of the program's instructions.
    names : sequence of str
        Names of the graph's nodes.
    """
    import jax

    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with temporary_folder() as folder:
        with jax.profiler.trace(str(folder), profiler_options=options):
            for number in range(steps):
                with jax.profiler.StepTraceAnnotation(_STEP, step_num=number):
                    step()
        (path,) = Path(folder).rglob("*.xplane.pb")
        threads, bounds = _read(jax.profiler.ProfileData.from_file(str(path)))
    return make_profile(threads, bounds, origins, names)


def _read(data: Any) -> tuple[list[list[Event]], list[tuple[float, float]]]:
    """Return the events of each thread that ran instructions, and start and end of each step."""
    threads, bounds = [], []
    for line in (line for plane in data.planes for line in plane.lines):
        events = []
        for event in line.events:
            start, end = event.start_ns / 1e9, (event.start_ns + event.duration_ns) / 1e9
            if event.name == _STEP:
                bounds.append((start, end))
                continue
            instruction = dict(event.stats).get("hlo_op")
            if instruction:
                events.append(Event(str(instruction), start, end))
        if events:
            threads.append(events)
    return threads, sorted(bounds)


def make_profile(
    threads: Iterable[Sequence[Event]],
    bounds: Sequence[tuple[float, float]],
    origins: Mapping[str, Origin],
    names: Sequence[str],
) -> Profile:
    """Return the profile of what ran between the steps' bounds; the thread that worked most is the first."""
    begin = bounds[0][0] if bounds else 0.0
    calls = []
    busiest = sorted(threads, key=lambda events: sum(e.end - e.start for e in events), reverse=True)
    for thread, events in enumerate(busiest):
        for event, seconds in _self_times(events):
            step = next((i for i, (start, end) in enumerate(bounds) if start <= event.start <= end), None)
            if step is None:
                continue
            origin = origins.get(event.instruction, UNKNOWN)
            node = None if origin.node is None else names[origin.node]
            native = _native(event.instruction, [names[other] for other in origin.others])
            calls.append(Call(node, native, origin.phase, event.start - begin, seconds, thread, step))
    calls.sort(key=lambda call: (call.start_seconds, call.thread))
    return Profile(SOURCE, tuple(calls), tuple((start - begin, end - start) for start, end in bounds))


def _self_times(events: Sequence[Event]) -> list[tuple[Event, float]]:
    """Return each event of a thread with its seconds but for those of events inside it, as in a loop's body."""
    found: list[tuple[Event, float]] = []
    around: list[int] = []
    for event in sorted(events, key=lambda e: (e.start, -e.end)):
        while around and found[around[-1]][0].end <= event.start:
            around.pop()
        if around:
            outer, seconds = found[around[-1]]
            found[around[-1]] = outer, max(0.0, seconds - (event.end - event.start))
        around.append(len(found))
        found.append((event, event.end - event.start))
    return found


def _native(instruction: str, others: Sequence[str]) -> str:
    """Return XLA's name of the instruction, with the nodes that are fused into it besides its own."""
    return f"{instruction} (with {', '.join(others)})" if others else instruction
