"""Whether the truth comes out: planned sleeps go through the sampler, and what is said of them is compared.

On a clock that only moves when a step sleeps, each simulated run has 30 slow steps and then 100 whose median and
autocorrelation are known (``tests/support/step_times.py``). The worker's own sampler takes the samples; where the
warm-up
ends, the interval of one process, and the interval of several are what a record would say.
``python benchmarks/recovery.py``
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rows import Row, finish, make_parser

from benchmarker.records.steady_state import detect
from benchmarker.statistics import across_processes, summarise
from benchmarker.worker.measurement.sampling import sample
from tests.support.step_times import Array, process_effects, steps, true_median

SLOW, SLOWER, STEADY = 30, 1.5, 100
PROCESSES = 5
MIN_COVERAGE, MAX_COVERAGE, MIN_NEAR, NEAR = 0.93, 0.97, 0.95, 5


class Sleeper:
    """A step that sleeps as planned, on a clock of its own."""

    def __init__(self, seconds: Array) -> None:
        self.now = 0
        self._plan = iter((seconds * 1e9).astype(np.int64).tolist())

    def clock(self) -> int:
        """Return the nanoseconds so far."""
        return self.now

    def step(self, _: None) -> None:
        """Sleep the next time."""
        self.now += next(self._plan)


def sampled(seconds: Array) -> list[float]:
    """Return what the worker's sampler says of the planned sleeps."""
    sleeper = Sleeper(seconds)
    samples = sample(sleeper.step, lambda _: None, lambda: None, len(seconds), clock=sleeper.clock)
    return samples.seconds


@dataclass(frozen=True)
class Said:
    """What is said of one process: where its warm-up ends, its median and its interval."""

    start: int
    median: float
    interval: tuple[float, float] | None


def said_of(seconds: Array) -> Said:
    """Return what a record would say of a process."""
    samples = sampled(seconds)
    start = detect(samples).start
    summary = summarise(samples[start:])
    return Said(start, summary.median, summary.ci95)


def covers(interval: tuple[float, float] | None, truth: float) -> bool:
    """Return whether the interval has the truth in it."""
    return interval is not None and interval[0] <= truth <= interval[1]


def share(hits: Sequence[bool]) -> float:
    """Return the share of hits."""
    return sum(hits) / len(hits)


def percent(value: float) -> str:
    """Write a share."""
    return f"{value:.1%}"


def rows(runs: int, seed: int) -> list[Row]:
    """Simulate and compare; a campaign is of :data:`PROCESSES` runs."""
    draw = np.random.default_rng(seed)
    effects = process_effects(draw, runs, PROCESSES)
    times = steps(draw, effects, SLOW + STEADY)
    times[..., :SLOW] *= SLOWER
    campaigns = [[said_of(process) for process in campaign] for campaign in times]
    first = [campaign[0] for campaign in campaigns]
    near = [abs(said.start - SLOW) <= NEAR for said in first]
    within = [covers(s.interval, true_median(e)) for s, e in zip(first, effects[:, 0].tolist())]
    across = [
        covers(across_processes([said.median for said in campaign]).ci95, true_median())
        for campaign in campaigns
    ]
    asked = {"goal": MAX_COVERAGE, "least": MIN_COVERAGE, "show": percent}
    return [
        Row(
            f"end of {SLOW} slow steps found within {NEAR}, of {runs} runs",
            [share(near)],
            1.0,
            percent,
            MIN_NEAR,
        ),
        Row(f"interval of one process covers its median, of {runs} runs", [share(within)], **asked),
        Row(f"interval of {PROCESSES} processes covers the median, of {runs}", [share(across)], **asked),
    ]


def main() -> int:
    """Simulate and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0, help="of the simulated times")
    arguments = parser.parse_args()
    return finish(rows(arguments.runs, arguments.seed), arguments)


if __name__ == "__main__":
    sys.exit(main())
