"""The timed part: warm up, choose how many steps, and time them between two readings of the machine's counters."""

from __future__ import annotations

import math
from typing import Any, Optional

from benchmarker.api.program import Program
from benchmarker.api.scenario import OFFLINE, SERVER
from benchmarker.quick_dataclass import dataclass
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import RunJob
from benchmarker.worker.measurement import evidence, overhead, sampling, scenarios
from benchmarker.worker.measurement.device_events import DeviceEvents
from benchmarker.worker.measurement.loss_curve import LossCurve
from benchmarker.worker.measurement.progress import SamplingProgress
from benchmarker.worker.measurement.sampling import Samples
from benchmarker.worker.measurement.timing_protocol import Measured, TimingProtocol
from benchmarker.worker.measurement.windows import Windows, in_turns, steps_of_window
from benchmarker.worker.program import Prepared
from benchmarker.worker.stages import Stages

STATED_WARM_UP = 3
"""Warm-up steps of a training whose number of steps is stated: its losses must not depend on the machine."""


@dataclass(frozen=True)
class Amount:
    """How many steps are timed (None: as many as the window holds), in blocks of how many."""

    steps: int | None
    block_steps: int


def measure(job: RunJob, prepared: Prepared, channel: Channel, stages: Stages, first: Any) -> Measured:
    """Warm up, and time steps once the orchestrator lets it.

    Parameters
    ----------
    first : object
        What the first step returned.
    """
    program, feed = prepared.program, prepared.feed
    with stages.stage("warmup"):
        feed.fill(sampling.MIN_SAMPLES)
        pulse = SamplingProgress(channel, None)
        warm = sampling.warm_up(prepared.step, program.synchronize, feed, warm_up_steps(job), pulse=pulse)
    costs = overhead.costs(program.synchronize, warm.output if warm.steps else first)
    step_seconds = warm.median_seconds if warm.steps else stages.seconds["compile"]
    amount = amount_of(job, step_seconds, costs.sample_seconds)
    server = _searched(job, prepared, channel, stages, step_seconds)
    with stages.stage("fill"):
        feed.fill(amount.steps or sampling.MAX_SAMPLES * amount.block_steps)
    events = DeviceEvents(program, step_seconds)
    protocol = TimingProtocol(job, prepared, channel, stages)
    protocol.wait(amount.steps, step_seconds)
    curve = _loss_curve(job, prepared)
    with protocol.timed():
        if server is not None:
            pulse = SamplingProgress(channel, None, protocol.checkpoints, None, protocol.probe)
            taken = server.confirm(events.around(prepared.step), pulse)
        elif job.window_seconds is None:
            pulse = SamplingProgress(channel, amount.steps, protocol.checkpoints, curve, protocol.probe)
            taken = _at_once(job, prepared, amount, events, pulse)
            protocol.checkpoints.note(taken.samples.steps)
        else:
            # Between the windows the other side is at work, of which checkpoints would tell.
            taken = _in_turns(job, prepared, amount, events, channel)
    if curve is not None:
        curve.note(taken.samples.steps, taken.samples.output)
    came_to = None if job.scenario is None else scenarios.scenario_result(job, taken.samples, server)
    return protocol.finish(warm, taken.samples, costs, taken.evidence, curve, events, taken.spans, came_to)


def _searched(
    job: RunJob, prepared: Prepared, channel: Channel, stages: Stages, step_seconds: float
) -> Optional[scenarios.ServerRun]:
    """Return a server for which a rate has been looked for; None of any other scenario."""
    if job.scenario != SERVER:
        return None
    server = scenarios.ServerRun(job, prepared)
    with stages.stage("search"):
        prepared.feed.fill(sampling.MAX_SAMPLES)
        server.find(step_seconds, SamplingProgress(channel, None))
    return server


def loss_of(program: Program, output: Any) -> float | None:
    """Return the loss that a training step returned, None if it is not finite."""
    value = float(program.fetch(output)[0])
    return value if math.isfinite(value) else None


def _loss_curve(job: RunJob, prepared: Prepared) -> LossCurve | None:
    if job.mode != "training":
        return None
    return LossCurve(lambda output: loss_of(prepared.program, output))


def warm_up_steps(job: RunJob) -> int | None:
    if job.warmup is None and job.steps is not None and job.mode == "training":
        return STATED_WARM_UP
    return job.warmup


def amount_of(job: RunJob, step_seconds: float, sample_overhead: float) -> Amount:
    """Return how many steps to time, and in what blocks.

    Parameters
    ----------
    step_seconds : float
        About how long a step takes.
    sample_overhead : float
        Seconds that clock and synchronisation take of a sample.
    """
    target = job.window_seconds or job.window or job.target_seconds
    if job.scenario == SERVER:
        return Amount(None, 1)
    if job.scenario == OFFLINE:
        return Amount(*scenarios.offline_steps(job, step_seconds))
    block = 1
    if job.sampling == "throughput":
        block = sampling.choose_block_steps(
            step_seconds, sample_overhead, steps=job.steps, target_seconds=target
        )
    if job.window_seconds is not None:
        return Amount(steps_of_window(step_seconds, block, job.window_seconds), block)
    if job.window:
        return Amount(None, block)
    chosen = sampling.choose_steps(
        step_seconds,
        block_steps=block,
        target_seconds=target,
        minimum=max(job.minimum_samples, scenarios.MIN_QUERIES.get(str(job.scenario), 0)),
    )
    return Amount(job.steps or chosen, block)


def _timed(
    job: RunJob, prepared: Prepared, amount: Amount, events: DeviceEvents, pulse: SamplingProgress
) -> Samples:
    what = (events.around(prepared.step), prepared.program.synchronize, prepared.feed)
    if amount.steps is None:
        return sampling.sample(*what, seconds=job.window or 0.0, block_steps=amount.block_steps, pulse=pulse)
    return sampling.sample(*what, amount.steps, block_steps=amount.block_steps, pulse=pulse)


def _at_once(
    job: RunJob, prepared: Prepared, amount: Amount, events: DeviceEvents, pulse: SamplingProgress
) -> Windows:
    """Time all steps in a row, between two readings of the machine's counters."""
    before = evidence.read(job.orchestrator)
    samples = _timed(job, prepared, amount, events, pulse)
    seen = evidence.between(before, evidence.read(job.orchestrator), steps=samples.steps)
    return Windows(samples, seen, None)


def _in_turns(
    job: RunJob, prepared: Prepared, amount: Amount, events: DeviceEvents, channel: Channel
) -> Windows:
    """Time windows of so many steps each."""
    synchronize, feed = prepared.program.synchronize, prepared.feed
    step = events.around(prepared.step)

    def timed() -> Samples:
        return sampling.sample(step, synchronize, feed, amount.steps or 1, block_steps=amount.block_steps)

    def untimed() -> Samples:
        return sampling.sample(prepared.step, synchronize, feed, 1)

    return in_turns(channel, job.orchestrator, untimed, timed)
