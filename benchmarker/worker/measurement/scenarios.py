"""How load comes, after MLPerf's LoadGen: one query at a time, all at once, or as a server's clients ask.

A query is a mini-batch. What is said of latencies is a percentile with its bounds (:mod:`.percentile_bounds`).

Source: Reddi et al., MLPerf Inference Benchmark, ISCA 2020, section III.C; https://github.com/mlcommons/inference.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from typing import Any, Optional

from benchmarker.api.scenario import OFFLINE, PERCENTILES, SERVER, SINGLE_STREAM
from benchmarker.statistics import percentile
from benchmarker.worker.job import RunJob
from benchmarker.worker.measurement import evidence
from benchmarker.worker.measurement.arrivals import poisson_arrivals
from benchmarker.worker.measurement.percentile_bounds import (
    CONFIDENCE,
    bounded_percentile,
    min_late,
    verdict,
)
from benchmarker.worker.measurement.sampling import Report, Samples, Step
from benchmarker.worker.measurement.server_search import (
    ALONE,
    CONFIRMATIONS,
    SUSTAINED,
    Search,
    Searcher,
    Trial,
)
from benchmarker.worker.measurement.serving import Served, serve, serve_alone
from benchmarker.worker.measurement.windows import Windows, joined
from benchmarker.worker.program import Prepared

MIN_QUERIES = {SINGLE_STREAM: 64, SERVER: 662}
"""With so many, one query may be late: as many as LoadGen needs."""
MAX_QUERIES = 20_000
"""Of a trial, where their number is not stated."""


def offline_steps(job: RunJob, step_seconds: float) -> tuple[int, int]:
    """Return how many mini-batches are handed over in all, and how many at once."""
    wanted = job.steps or math.ceil(job.target_seconds / max(step_seconds, 1e-9))
    queries = job.minimum_samples if job.steps is None else min(job.minimum_samples, job.steps)
    at_once = max(1, wanted // queries)
    return job.steps or at_once * queries, at_once


def scenario_result(job: RunJob, samples: Samples, server: Optional[ServerRun] = None) -> dict[str, Any]:
    """Return what a scenario came to, as a record has it.

    Parameters
    ----------
    job : RunJob
        Of a scenario.
    samples : Samples
        The timed steps.
    server : ServerRun, optional
        What the search of a server found.
    """
    latencies = samples.seconds if server is None else server.latencies
    percent = PERCENTILES.get(str(job.scenario))
    known = None if percent is None else bounded_percentile(latencies, percent)
    return {
        "name": job.scenario,
        "query_samples": job.batch_size * (samples.block_steps if job.scenario == OFFLINE else 1),
        "queries": len(latencies),
        "percentile": percent,
        "confidence": None if percent is None else CONFIDENCE,
        "percentile_seconds": known and known.value,
        "at_least_seconds": known and known.at_least,
        "at_most_seconds": known and known.at_most,
        "latencies_seconds": None if server is None else latencies,
        "latency_bound_seconds": None if server is None else job.latency_bound,
        "server": server and server.search.to_json(),
    }


@dataclass
class ServerRun:
    """The trials of a server: a search before the timed part, and what confirms it in the timed part.

    Parameters
    ----------
    job : RunJob
        With its latency bound.
    prepared : Prepared
        Who serves.
    """

    job: RunJob
    prepared: Prepared
    search: Search = field(default_factory=lambda: Search(0.0))
    _served: list[Served] = field(default_factory=list)

    def find(self, step_seconds: float, pulse: Report) -> None:
        """Look for the rate.

        Parameters
        ----------
        step_seconds : float
            About how long a step takes.
        pulse : callable
            Called after each trial.
        """
        count = self._queries(1 / max(step_seconds, 1e-9))
        alone = self._alone(count, self.prepared.step, pulse)
        services = self._served[0].services
        capacity = len(services) / (sum(services) / 1e9)
        self.search = self._searcher(self.prepared.step, pulse).search(alone, capacity)
        self._served = []

    def confirm(self, step: Step, pulse: Report) -> Windows:
        """Serve further queries at the rate that was found, or one by one where there is none: those that are timed."""
        before = evidence.read(self.job.orchestrator)
        if self.search.rate is None:
            self._alone(self.search.trials[0].queries, step, pulse)
        else:
            self.search = self._searcher(step, pulse).confirm(self.search)
        samples = joined(
            [
                Samples(one.services, one.output, one.wall_nanoseconds, len(one.services))
                for one in self._served
            ]
        )
        seen = evidence.between(before, evidence.read(self.job.orchestrator), steps=samples.steps)
        return Windows(samples, seen, None)

    @property
    def latencies(self) -> list[float]:
        """Seconds of each query of the trials that have confirmed the rate; where there is none, of the last trial."""
        kept = CONFIRMATIONS if self.search.outcome == SUSTAINED else 1
        return [value / 1e9 for one in self._served[-kept:] for value in one.latencies]

    @property
    def _bound(self) -> float:
        assert self.job.latency_bound is not None
        return self.job.latency_bound

    def _searcher(self, step: Step, pulse: Report) -> Searcher:
        def run(rate: float, number: int, part: str) -> Trial:
            count = self._queries(rate)
            stop_at = min_late(count, PERCENTILES[SERVER])
            arrivals = poisson_arrivals(self.job.seed, number, rate, count)
            what = step, self.prepared.program.synchronize, self.prepared.feed
            return self._kept(
                part, number, rate, serve(*what, arrivals, bound=self._bound, stop_at=stop_at), count, pulse
            )

        return Searcher(run, self._bound, PERCENTILES[SERVER])

    def _queries(self, rate: float) -> int:
        if self.job.steps is not None:
            return self.job.steps
        return max(MIN_QUERIES[SERVER], min(math.ceil(rate * self.job.target_seconds), MAX_QUERIES))

    def _alone(self, count: int, step: Step, pulse: Report) -> Trial:
        what = step, self.prepared.program.synchronize, self.prepared.feed
        return self._kept(ALONE, 0, None, serve_alone(*what, count, bound=self._bound), count, pulse)

    def _kept(
        self, part: str, number: int, rate: Optional[float], served: Served, planned: int, pulse: Report
    ) -> Trial:
        """Keep what was served, and return what the trial says."""
        self._served.append(served)
        seconds = statistics.median(served.services) / 1e9
        pulse(sum(len(one.services) for one in self._served), seconds, served.output)
        return trial_of(part, number, rate, served, planned)


def trial_of(part: str, number: int, rate: Optional[float], served: Served, planned: int) -> Trial:
    """Return what a row of queries says; one that ended before all that were planned has missed the bound."""
    count, percent = len(served.latencies), PERCENTILES[SERVER]
    return Trial(
        part,
        number,
        rate,
        count,
        served.late,
        verdict(served.late, planned, percent),
        percentile(sorted(served.latencies), percent) / 1e9,
        count / (served.wall_nanoseconds / 1e9),
        statistics.median(served.late_starts or [0]) / 1e9,
    )
