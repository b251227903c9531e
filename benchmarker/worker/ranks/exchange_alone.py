"""A framework's own all-reduce of as many bytes as its steps exchange, by itself: what of it a step hides follows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarker.api.collective import ALL_REDUCE, Collective, CollectiveProgram
from benchmarker.problems.files import load_object
from benchmarker.worker.job import RankJob
from benchmarker.worker.loading import load_framework_plugin
from benchmarker.worker.ranks.flat import Layout
from benchmarker.worker.ranks.prepare import Rank

FIRST_STEPS = 3
PART = "all-reduce alone"


def time_exchange_alone(job: RankJob, rank: Rank, count: int) -> dict[str, list[float]]:
    """Return the seconds of the exchange, for a scheme and a framework that have it, else nothing.

    Parameters
    ----------
    job, rank
        The run; all ranks make the same calls.
    count : int
        How often it is timed.
    """
    offered = load_framework_plugin(job.framework).collectives
    if job.exchange != "native" or rank.scheme.name != "all-reduce" or offered is None:
        return {}
    if ALL_REDUCE not in offered.means:
        return {}
    dtype: Any = np.float64 if job.precision == "fp64" else np.float32
    collective = Collective(ALL_REDUCE, Layout(rank.prepared.built).length)
    program: CollectiveProgram = load_object(offered.program)(collective, job.world, dtype)
    given = program.load(np.zeros(collective.elements, dtype))
    seconds = []
    for number in range(FIRST_STEPS + count):
        program.restore(given)
        rank.group.gather("exchange begins", None)
        begun = time.perf_counter()
        program.synchronize(program.run(given))
        if number >= FIRST_STEPS:
            seconds.append(time.perf_counter() - begun)
    return {PART: seconds}
