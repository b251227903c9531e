"""Queries that arrive when they do: each is served after those before it, and its latency counts from its arrival."""

from __future__ import annotations

import sys
import time
from array import array
from collections.abc import Sequence
from typing import Any, Optional

from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.measurement.sampling import Clock, Feed, Step, Synchronize

SPIN_NANOSECONDS = 500_000
"""The last of a wait is not slept, as a sleeper wakes up late."""


@dataclass(frozen=True)
class Served:
    """What came of a row of queries.

    Parameters
    ----------
    latencies, services : array of int
        Nanoseconds of each query: from its arrival, and from when it was begun, until its output was there.
    late_starts : array of int
        Of each query that found nothing else served: how much later than it arrived it was begun.
    output : object
        What the last step returned.
    wall_nanoseconds : int
        From the start to the last output.
    late : int
        Queries whose latency was beyond the bound.
    """

    latencies: array[int]
    services: array[int]
    late_starts: array[int]
    output: Any
    wall_nanoseconds: int
    late: int


class Waiting:
    """Waits for a moment of a clock: sleeps, and looks at the clock at the end."""

    def __init__(self, clock: Clock = time.perf_counter_ns) -> None:
        self.clock = clock

    def until(self, moment: int) -> None:
        """Return at a moment of the clock, in nanoseconds, or a little later."""
        left = moment - self.clock()
        if left > 2 * SPIN_NANOSECONDS:
            time.sleep((left - SPIN_NANOSECONDS) / 1e9)
        while self.clock() < moment:
            pass


def serve(
    step: Step,
    synchronize: Synchronize,
    feed: Feed,
    arrivals: Sequence[int],
    *,
    bound: float,
    stop_at: Optional[int] = None,
    waiting: Optional[Waiting] = None,
) -> Served:
    """Serve queries, one per step, in the order in which they arrive.

    A query that arrives while another is served waits, and its latency holds that: a server that is too slow cannot
    make its clients ask later.

    Parameters
    ----------
    step, synchronize, feed : callable
        As of :func:`benchmarker.worker.measurement.sampling.sample`.
    arrivals : sequence of int
        Nanoseconds from the start, ascending; one at least.
    bound : float
        Seconds above which a query is late.
    stop_at : int, optional
        So many late queries end the row.
    waiting : Waiting, optional
        Knows the clock.
    """
    waiting = waiting or Waiting()
    clock, limit, most = waiting.clock, bound * 1e9, stop_at or sys.maxsize
    latencies, services, late_starts = array("q"), array("q"), array("q")
    output, late = None, 0
    start = end = clock()
    for offset in arrivals:
        batch, arrived = feed(), start + offset
        idle = end < arrived
        if idle:
            waiting.until(arrived)
        began = clock()
        output = step(batch)
        synchronize(output)
        end = clock()
        services.append(end - began)
        latencies.append(end - arrived)
        if idle:
            late_starts.append(began - arrived)
        late += end - arrived > limit
        if late >= most:
            break
    return Served(latencies, services, late_starts, output, end - start, late)


def serve_alone(
    step: Step,
    synchronize: Synchronize,
    feed: Feed,
    count: int,
    *,
    bound: float,
    clock: Clock = time.perf_counter_ns,
) -> Served:
    """Serve queries of which each comes when the one before it was answered; arguments as of :func:`serve`."""
    latencies: array[int] = array("q")
    output, late = None, 0
    start = end = clock()
    for _ in range(count):
        batch = feed()
        began = clock()
        output = step(batch)
        synchronize(output)
        end = clock()
        latencies.append(end - began)
        late += end - began > bound * 1e9
    return Served(latencies, latencies, array("q", [0]), output, end - start, late)
