"""The timed part of a rank: all of them make the same steps, in the same blocks, and begin together."""

from __future__ import annotations

import math
import time
from dataclasses import field
from typing import Any

from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import RankJob
from benchmarker.worker.measurement import evidence, overhead, sampling
from benchmarker.worker.measurement.device_events import DeviceEvents
from benchmarker.worker.measurement.progress import SamplingProgress
from benchmarker.worker.measurement.sampling import Samples
from benchmarker.worker.measurement.timed_part import amount_of, warm_up_steps
from benchmarker.worker.measurement.timing_protocol import Measured, TimingProtocol
from benchmarker.worker.ranks.alone import Alone
from benchmarker.worker.ranks.prepare import Rank
from benchmarker.worker.stages import Stages

MAX_TRACED_STEPS = 10
"""Of those made in their parts, of which it is told when each part began."""
FIRST_STEPS = 3
"""Of the warm-up, from which follows how many more there are."""
PARTS_SECONDS, MIN_PARTS, MAX_PARTS = 0.5, 5, 50
"""How long steps are made in their parts, and how many."""


def measure_rank(job: RankJob, rank: Rank, channel: Channel, stages: Stages, first: Any) -> Measured:
    """Warm up, and time steps once all ranks are ready.

    Parameters
    ----------
    first : object
        What the first step returned.
    """
    prepared, group = rank.prepared, rank.group
    program, feed = prepared.program, prepared.feed
    with stages.stage("warmup"):
        warm = _warm_up(job, rank)
    costs = overhead.costs(program.synchronize, warm.output if warm.steps else first)
    step_seconds = group.agree("step", warm.median_seconds if warm.steps else stages.seconds["compile"])
    amount = amount_of(job, step_seconds, group.agree("cost", costs.sample_seconds))
    events = DeviceEvents(program, step_seconds)
    protocol = TimingProtocol(job, prepared, channel, stages)
    protocol.wait(amount.steps, step_seconds)
    # Nothing else between samples: whatever one rank does there, all others wait for.
    pulse = SamplingProgress(channel, amount.steps, protocol.checkpoints)
    with protocol.timed():
        before = evidence.read(job.orchestrator)
        samples = sampling.sample(
            events.around(prepared.step),
            program.synchronize,
            feed,
            amount.steps or 1,
            block_steps=amount.block_steps,
            pulse=pulse,
        )
        after = evidence.read(job.orchestrator)
        seen = evidence.between(before, after, steps=samples.steps, ranks=group.others)
        protocol.checkpoints.note(samples.steps)
    return protocol.finish(warm, samples, costs, seen, None, events)


def _warm_up(job: RankJob, rank: Rank) -> Samples:
    """Make steps that do not count: as many as were asked for, or as rank 0 makes in a second."""
    prepared = rank.prepared
    what = (prepared.step, prepared.program.synchronize, prepared.feed)
    wanted = warm_up_steps(job)
    if wanted is not None:
        return sampling.sample(*what, wanted)
    begun = sampling.sample(*what, FIRST_STEPS)
    more = math.ceil(sampling.WARM_UP_SECONDS / max(begun.median_seconds, 1e-9))
    more = rank.group.agree("warmup", min(max(more, 1), sampling.MAX_WARM_UP_STEPS))
    return sampling.sample(*what, more)


@dataclass(frozen=True)
class PartTimes:
    """How long the parts of some further steps took.

    Parameters
    ----------
    seconds : dict
        Of each part, in the order of the steps.
    spans : list
        Step, part, when it began by the clock that all processes of the machine share, and how long it took, both in
        seconds; of the first steps alone.
    """

    seconds: dict[str, list[float]]
    spans: list[tuple[int, str, float, float]] = field(default_factory=list)


def time_parts(rank: Rank, step_seconds: float) -> PartTimes:
    """Return how long the parts of some further steps take.

    ``compute`` is the way forward and backward, made by all ranks at once and without any exchange. Where ranks
    exchange over MPI there are the parts of a whole step, each waited for, too.

    Parameters
    ----------
    step_seconds : float
        About how long a step takes.
    """
    prepared, group, feed = rank.prepared, rank.group, rank.prepared.feed
    found = PartTimes({"compute": time_compute(rank, step_seconds)})
    count = len(found.seconds["compute"])
    if rank.over_mpi is None:
        return found
    make = rank.over_mpi.train_parts if rank.micro_batch is None else rank.over_mpi.micro_parts
    group.gather("parts begin", None)
    for step in range(count):
        # The next mini-batch, as of any step: what a server logs is replayed with it.
        native = prepared.program.load(feed()) if feed.fed else feed()
        begun = time.perf_counter()
        for name, output in make(native):
            prepared.program.synchronize(output)
            ended = time.perf_counter()
            found.seconds.setdefault(name, []).append(ended - begun)
            if step < MAX_TRACED_STEPS:
                found.spans.append((step, name, begun, ended - begun))
            begun = ended
    return found


def time_compute(rank: Rank, step_seconds: float) -> list[float]:
    """Time the way forward and backward on all ranks at once, in a program that exchanges nothing.

    Parameters
    ----------
    step_seconds : float
        About how long a step takes.
    """
    prepared = rank.prepared
    count = min(max(int(PARTS_SECONDS / max(step_seconds, 1e-9)), MIN_PARTS), MAX_PARTS)
    count = rank.group.agree("parts", count)
    alone = Alone(prepared, rank.micro_batch)
    batch = alone.load(rank.view.rows(prepared.feed.first))
    for _ in range(FIRST_STEPS):
        alone.run(batch)
    rank.group.gather("compute begins", None)
    seconds = []
    for _ in range(count):
        begun = time.perf_counter()
        alone.run(batch)
        seconds.append(time.perf_counter() - begun)
    return seconds
