"""What measuring itself costs: the sampler around nothing, the clock's resolution, an empty synchronisation."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.measurement import sampling

NULL_STEPS = 2000
CLOCK_READINGS = 1000
MAX_SYNCHRONISATIONS = 200
MAX_SECONDS = 0.05


@dataclass(frozen=True)
class Costs:
    """What a sample costs beside the step, in seconds.

    Parameters
    ----------
    null_p50, null_p99 : float
        What the sampler reports for an empty step.
    null_step : float
        All that an empty step costs, outside of the timed region included.
    clock_resolution : float
        The smallest step of the clock that was seen.
    synchronisation : float
        A synchronisation that has nothing to wait for.
    """

    null_p50: float
    null_p99: float
    null_step: float
    clock_resolution: float
    synchronisation: float

    @property
    def sample_seconds(self) -> float:
        """What is inside the timed region beside the step."""
        return self.null_p50 + self.synchronisation

    def to_json(self) -> dict[str, float]:
        return {f"{name}_seconds": value for name, value in asdict(self).items()}


def costs(synchronize: Callable[[Any], None], output: Any) -> Costs:
    """Measure all costs, which takes some milliseconds; arguments as of :func:`synchronisation_seconds`."""
    null = null_loop_seconds()
    return Costs(
        null["p50"],
        null["p99"],
        null["per_step"],
        clock_resolution_seconds(),
        synchronisation_seconds(synchronize, output),
    )


def null_loop_seconds(steps: int = NULL_STEPS) -> dict[str, float]:
    """Run the real sampler around an empty step.

    Returns
    -------
    dict
        In seconds: ``p50`` and ``p99`` of what it reports, ``per_step`` for all that a step costs.
    """
    samples = sampling.sample(_nothing, _nothing, _no_batch, steps)
    ordered = sorted(samples.nanoseconds)
    return {
        "p50": ordered[len(ordered) // 2] / 1e9,
        "p99": ordered[len(ordered) * 99 // 100] / 1e9,
        "per_step": samples.wall_nanoseconds / steps / 1e9,
    }


def _nothing(_: Any) -> None:
    return None


def _no_batch() -> None:
    return None


def clock_resolution_seconds(clock: Callable[[], int] = time.perf_counter_ns) -> float:
    """Return the smallest difference, other than none, of two readings of the clock one after the other."""
    smallest = None
    for _ in range(CLOCK_READINGS):
        start = end = clock()
        while end == start:
            end = clock()
        smallest = end - start if smallest is None else min(smallest, end - start)
    return (smallest or 0) / 1e9


def synchronisation_seconds(
    synchronize: Callable[[Any], None], output: Any, *, clock: Callable[[], int] = time.perf_counter_ns
) -> float:
    """Return the median time of a synchronisation that has nothing to wait for.

    Parameters
    ----------
    synchronize : callable
        The program's barrier.
    output : object
        What the last step returned.
    clock : callable
        Nanoseconds, monotonic.
    """
    synchronize(output)
    taken: list[int] = []
    deadline = clock() + int(MAX_SECONDS * 1e9)
    while not taken or (len(taken) < MAX_SYNCHRONISATIONS and clock() < deadline):
        start = clock()
        synchronize(output)
        taken.append(clock() - start)
    return sorted(taken)[len(taken) // 2] / 1e9
