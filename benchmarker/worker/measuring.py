"""The timed part: warm up, choose how many steps, and time them between two readings of the machine's counters."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

from benchmarker.framework import Program
from benchmarker.worker import evidence, facts, overhead, sampling
from benchmarker.worker.channel import Channel
from benchmarker.worker.device_events import DeviceEvents
from benchmarker.worker.job import Job
from benchmarker.worker.loss_curve import LossCurve
from benchmarker.worker.prepared import Prepared
from benchmarker.worker.pulse import Pulse
from benchmarker.worker.sampling import Samples
from benchmarker.worker.stages import Stages

STATED_WARM_UP = 3
"""Warm-up steps of a training whose number of steps is stated: its losses must not depend on the machine."""


@dataclass(frozen=True)
class Amount:
    """How many steps are timed (None: as many as the window holds), in blocks of how many."""

    steps: int | None
    block_steps: int


@dataclass(frozen=True)
class Measured:
    """What the timed part gave, and what the machine did meanwhile."""

    warm: Samples
    samples: Samples
    costs: overhead.Costs
    memory: dict[str, Any]
    evidence: dict[str, Any]
    checkpoints: dict[str, Any]
    device_event_seconds: list[float] | None
    compilations: int | None
    curve: LossCurve | None

    def to_json(self) -> dict[str, Any]:
        """Return all but the last step's output as JSON values."""
        return {
            "warmup_nanoseconds": self.warm.nanoseconds.tolist(),
            "samples_nanoseconds": self.samples.nanoseconds.tolist(),
            "wall_nanoseconds": self.samples.wall_nanoseconds,
            "steps": self.samples.steps,
            "block_steps": self.samples.block_steps,
            "overhead": self.costs.to_json(),
            "memory": self.memory,
            "evidence": self.evidence,
            "checkpoints": self.checkpoints,
            "device_event_seconds": self.device_event_seconds,
            "compilations": self.compilations,
            "learning": self.curve and self.curve.to_json(),
        }


def measure(job: Job, prepared: Prepared, channel: Channel, stages: Stages, first: Any) -> Measured:
    """Warm up, and time steps once the orchestrator lets it.

    Parameters
    ----------
    first : object
        What the first step returned.
    """
    program, feed = prepared.program, prepared.feed
    with stages.stage("warmup"):
        feed.fill(sampling.FEWEST_SAMPLES)
        pulse = Pulse(channel, None)
        warm = sampling.warm_up(prepared.step, program.synchronize, feed, _warm_up_steps(job), pulse=pulse)
    costs = overhead.costs(program.synchronize, warm.output if warm.steps else first)
    step_seconds = warm.median_seconds if warm.steps else stages.seconds["compile"]
    amount = amount_of(job, step_seconds, costs.sample_seconds)
    with stages.stage("fill"):
        feed.fill(amount.steps or sampling.MOST_SAMPLES * amount.block_steps)
    channel.send("ready", pid=os.getpid(), steps=amount.steps, step_seconds=step_seconds)
    channel.wait_for("go")
    sampling.quieten_garbage_collector()
    facts.reset_peak_memory()
    program.reset_memory()
    checkpoints, events, compiled = evidence.Checkpoints(), DeviceEvents(program), program.compilations()
    before = evidence.read(job.orchestrator)
    with stages.stage("measure"):
        curve = _loss_curve(job, prepared)
        pulse = Pulse(channel, amount.steps, checkpoints, curve)
        samples = _timed(job, prepared, amount, events, pulse)
    after = evidence.read(job.orchestrator)
    checkpoints.note(samples.steps)
    if curve is not None:
        curve.note(samples.steps, samples.output)
    memory = {"peak_bytes": facts.peak_memory(), "framework": program.memory()}
    channel.send("timed")
    return Measured(
        warm,
        samples,
        costs,
        memory,
        evidence.between(before, after, steps=samples.steps),
        checkpoints.to_json(),
        events.seconds(),
        _difference(compiled, program.compilations()),
        curve,
    )


def loss_of(program: Program, output: Any) -> float | None:
    """Return the loss that a training step returned, None if it is not finite."""
    value = float(program.fetch(output)[0])
    return value if math.isfinite(value) else None


def _loss_curve(job: Job, prepared: Prepared) -> LossCurve | None:
    if job.mode != "training":
        return None
    return LossCurve(lambda output: loss_of(prepared.program, output))


def _warm_up_steps(job: Job) -> int | None:
    if job.warmup is None and job.steps is not None and job.mode == "training":
        return STATED_WARM_UP
    return job.warmup


def amount_of(job: Job, step_seconds: float, sample_overhead: float) -> Amount:
    """Return how many steps to time, and in what blocks.

    Parameters
    ----------
    step_seconds : float
        About how long a step takes.
    sample_overhead : float
        Seconds that clock and synchronisation take of a sample.
    """
    target = job.window_seconds or job.target_seconds
    block = 1
    if job.sampling == "throughput":
        block = sampling.choose_block_steps(
            step_seconds, sample_overhead, steps=job.steps, target_seconds=target
        )
    if job.window_seconds:
        return Amount(None, block)
    chosen = sampling.choose_steps(
        step_seconds, block_steps=block, target_seconds=target, minimum=job.minimum_samples
    )
    return Amount(job.steps or chosen, block)


def _timed(job: Job, prepared: Prepared, amount: Amount, events: DeviceEvents, pulse: Pulse) -> Samples:
    what = (events.around(prepared.step), prepared.program.synchronize, prepared.feed)
    if amount.steps is None:
        return sampling.sample_window(
            *what, job.window_seconds or 0.0, block_steps=amount.block_steps, pulse=pulse
        )
    return sampling.sample(*what, amount.steps, block_steps=amount.block_steps, pulse=pulse)


def _difference(first: int | None, last: int | None) -> int | None:
    return None if first is None or last is None else last - first
