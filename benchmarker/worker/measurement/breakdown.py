"""The parts of a step, in a pass of their own: a synchronisation after each part changes what is measured."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError

MAX_STEPS = 200
SYNCHRONISATION = "synchronisation"
DATA = "data"

Clock = Callable[[], int]


def breakdown(
    program: Program,
    mode: str,
    batches: Callable[[], Mapping[str, Any]],
    *,
    seconds: float,
    clock: Clock = time.perf_counter_ns,
) -> dict[str, Any]:
    """Time the parts of steps.

    Parameters
    ----------
    program : Program
        It goes on training.
    mode : {"inference", "training", "gradient", "generation"}
        Which step.
    batches : callable
        Returns the next mini-batch as NumPy arrays; loading it is the part ``data``.
    seconds : float
        About how long the pass lasts; there are at least 3 steps and at most :data:`MAX_STEPS`.

    Returns
    -------
    dict
        ``steps``; ``parts``: name to ``samples_seconds`` and ``median_seconds``, ``synchronisation`` being
        what a step waits in all for the device after calls have returned; ``reason`` why there are no parts.
    """
    found: dict[str, list[float]] = {}
    deadline = clock() + int(seconds * 1e9)
    steps = 0
    try:
        while steps < 3 or (steps < MAX_STEPS and clock() < deadline):
            for name, value in _parts(program, mode, batches(), clock).items():
                found.setdefault(name, []).append(value / 1e9)
            steps += 1
    except UnsupportedError as reason:
        return {"steps": 0, "parts": {}, "reason": str(reason)}
    parts = {
        name: {"median_seconds": statistics.median(values), "samples_seconds": values}
        for name, values in found.items()
    }
    return {"steps": steps, "parts": parts, "reason": None}


def _parts(program: Program, mode: str, batch: Mapping[str, Any], clock: Clock) -> dict[str, int]:
    """Return the nanoseconds of each part of one step."""
    times = {SYNCHRONISATION: 0}
    start = clock()
    native = program.load(batch)
    start = _closed(program, times, DATA, native, start, clock)
    for name, output in _step(program, mode, native):
        start = _closed(program, times, name, output, start, clock)
    return times


def _closed(program: Program, times: dict[str, int], name: str, output: Any, start: int, clock: Clock) -> int:
    """Note the part that began at ``start``, wait for it, and return when the next part begins."""
    returned = clock()
    program.synchronize(output)
    end = clock()
    times[name] = end - start
    times[SYNCHRONISATION] += end - returned
    return clock()


def _step(program: Program, mode: str, native: Any) -> Iterator[tuple[str, Any]]:
    if mode == "inference":
        yield "forward", program.infer(native)
        return
    if mode == "gradient":
        yield "forward and backward", program.gradient_step(native)
        return
    yield from program.train_parts(native)
