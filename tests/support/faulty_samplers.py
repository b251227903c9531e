"""Samplers that go wrong in one way each, for the checks of honesty to find; the right one is the worker's own."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from typing import Any

from benchmarker.worker.measurement.sampling import Clock, Feed, Samples, Step, Synchronize

Sampler = Callable[..., Samples]
FAULTS = (
    "feeds in the timed region",
    "pulses in the timed region",
    "does not synchronise",
    "synchronises after the clock",
    "synchronises every step of a block",
    "times the calls alone",
    "takes off what the clock costs",
    "rounds to microseconds",
    "leaves out the slowest",
    "counts every block as a full one",
)


def faulty(fault: str) -> Sampler:
    """Return a sampler with the fault."""

    def take(
        step: Step,
        synchronize: Synchronize,
        feed: Feed,
        count: int,
        *,
        block_steps: int = 1,
        clock: Clock = time.perf_counter_ns,
        pulse: Any = None,
    ) -> Samples:
        times: array[int] = array("q")
        output: Any = None
        done, first = 0, clock()
        while done < count:
            length = min(block_steps, count - done)
            early = fault == "feeds in the timed region"
            batches = [] if early else [feed() for _ in range(length)]
            start = clock()
            for number in range(length):
                output = step(feed() if early else batches[number])
                if fault == "synchronises every step of a block":
                    synchronize(output)
            if fault == "times the calls alone":
                end = clock()
                synchronize(output)
                start += clock() - end
            if fault not in ("does not synchronise", "synchronises after the clock", "times the calls alone"):
                synchronize(output)
            if fault == "pulses in the timed region" and pulse is not None:
                pulse(done, 0.0, None)
            end = clock()
            if fault == "synchronises after the clock":
                synchronize(output)
            times.append(end - start)
            done += length
        return Samples(corrected(times), output, end - first, steps(done), block_steps)

    def corrected(times: array[int]) -> array[int]:
        if fault == "takes off what the clock costs":
            return array("q", [value - min(times) // 100 - 1 for value in times])
        if fault == "rounds to microseconds":
            return array("q", [round(value, -3) for value in times])
        if fault == "leaves out the slowest":
            return array("q", [value for value in times if value < max(times)])
        return times

    def steps(done: int) -> int:
        return done + 1 if fault == "counts every block as a full one" else done

    return take
