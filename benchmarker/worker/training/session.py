"""A training by a recipe in a worker: its parts, and what is done with them in the order that a job has."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from benchmarker.api.program import Program
from benchmarker.data import values
from benchmarker.graph.graph import Graph
from benchmarker.quick_dataclass import dataclass
from benchmarker.training.checkpoint import CheckpointSettings, Writer
from benchmarker.training.fields import made
from benchmarker.training.recipe import Training
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import RunJob
from benchmarker.worker.measurement import evidence, overhead, sampling
from benchmarker.worker.measurement.loss_curve import LossCurve
from benchmarker.worker.measurement.sampling import Samples
from benchmarker.worker.measurement.timing_protocol import Measured, TimingProtocol
from benchmarker.worker.program import Prepared
from benchmarker.worker.stages import Stages
from benchmarker.worker.training import feed as feeding
from benchmarker.worker.training import final
from benchmarker.worker.training.begin import plan_of
from benchmarker.worker.training.checkpoints import Checkpoints, Held, subject_of
from benchmarker.worker.training.curve import DIVERGED, Curve
from benchmarker.worker.training.data import TrainingData
from benchmarker.worker.training.evaluation import Evaluator, has_cross_entropy
from benchmarker.worker.training.final import Recomputed
from benchmarker.worker.training.loop import Plan, TrainingLoop
from benchmarker.worker.training.pulse import TrainingPulse
from benchmarker.worker.training.rates import Rates
from benchmarker.worker.training.together import Together
from benchmarker.worker.verification.findings import Check

if TYPE_CHECKING:
    from benchmarker.data.feeding import TrainingFeed
    from benchmarker.worker.training.evaluation import Weights

WARM_UP = 3
"""Steps after the first that are synchronised one by one, to choose how many the samples after them have."""


@dataclass(frozen=True)
class Session:
    """A training that is ready to begin.

    Parameters
    ----------
    job, prepared
        The run.
    data, rates, plan, loop
        Mini-batches, constants, lengths, and what makes the steps.
    together : Together
        Who else makes them.
    checkpoints : Checkpoints or None
        What writes them.
    resumes : bool
        Whether it goes on from one.
    """

    job: RunJob
    prepared: Prepared
    data: TrainingData
    rates: Rates
    plan: Plan
    loop: TrainingLoop
    together: Together
    checkpoints: Optional[Checkpoints] = None
    resumes: bool = False

    def open_feed(self) -> TrainingFeed:
        """Return what the steps after the first take their mini-batches from."""
        loop, plan = self.loop, self.plan
        return feeding.open_feed(self.prepared.feed, self.data.train, self.job.prefetch, loop.row, plan.most)

    def measure(self, channel: Channel, stages: Stages) -> Measured:
        """Train to the end, and return the time of the steps as any run tells it."""
        job, loop, program, plan = self.job, self.loop, self.prepared.program, self.plan
        with stages.stage("warmup"):
            warm = loop.warm_up(self._warm_until())
            costs = overhead.costs(program.synchronize, loop.output)
        step_seconds = sorted(warm)[len(warm) // 2] / 1e9 if warm else stages.seconds["compile"]
        begin, most = loop.step, plan.most - loop.step
        found = sampling.choose_block_steps(
            step_seconds, costs.sample_seconds, steps=most, target_seconds=0.0
        )
        block = self.together.steps("block", found)
        losses, protocol = LossCurve(lambda _: loop.loss), TimingProtocol(job, self.prepared, channel, stages)
        protocol.wait(None, step_seconds)
        with protocol.timed():
            before = evidence.read(job.orchestrator)
            pulse = TrainingPulse(channel, loop, plan.most, protocol.checkpoints, losses, protocol.probe)
            wall = loop.run(block, pulse)
            steps = loop.step - begin
            protocol.checkpoints.note(steps)
            after = evidence.read(job.orchestrator)
            seen = evidence.between(before, after, steps=steps, ranks=self.together.others)
        losses.note(loop.step, loop.output)
        return protocol.finish(
            Samples(warm, loop.output, sum(warm), len(warm)),
            Samples(loop.samples, loop.output, wall, steps, block),
            costs,
            seen,
            losses,
        )

    def _warm_until(self) -> int:
        """Return the last step that is synchronised by itself; a training that goes on may end with any evaluation."""
        loop = self.loop
        most = min(loop.step + WARM_UP, self.plan.most - 1)
        return min(most, loop.step + loop.steps_to_evaluation() - 1) if self.resumes else most

    def taken(self) -> dict[str, Any]:
        """Return which mini-batches the steps have taken: all of them different ones."""
        # Those that were loaded before a training diverged are no step's.
        return {"distinct_batches": self.loop.step, "resident_bytes": 0, **self.prepared.feed.digests()}

    def job_of_base(self) -> RunJob:
        """Return the job with the constants that the program has now: those of the recipe before any schedule."""
        base = self.job.optimizer
        self.rates.give_base(self.prepared.program)
        return replace(self.job, optimizer=base)

    def judged(self, weights: Weights) -> tuple[Optional[Recomputed], Check]:
        """Return what the reference makes of the final weights, and the verdict."""
        finite = all(np.isfinite(array).all() for array in weights.values())
        loop, job = self.loop, self.job
        loop.evaluator.take()
        if not finite:
            return None, final.check(None, None)
        seconds = max(final.MIN_SECONDS, final.RUN_SHARE * loop.clocks.training / 1e9)
        found = final.recomputed(self.prepared.graph, weights, loop.evaluator, job.precision, seconds)
        last = loop.curve.rows[-1]
        return found, final.check(found, last.correct if last.step == loop.step else None)

    def meant(self, weights: Weights) -> Check:
        """Return whether these weights are the ones to evaluate."""
        job, prepared = self.job, self.prepared
        return final.evaluated_check(prepared.program, job.optimizer, prepared.graph, weights, job.precision)

    def record(self, judged: Optional[Recomputed], weights: Weights, feed: TrainingFeed) -> dict[str, Any]:
        """Return what the record says of the training."""
        loop, plan, curve, data = self.loop, self.plan, self.loop.curve, self.data
        clocks, diverged = loop.clocks, loop.outcome == DIVERGED
        return {
            "outcome": loop.outcome,
            "reached": curve.hit is not None,
            "steps": loop.step,
            "most_steps": plan.most,
            "steps_per_epoch": plan.steps_per_epoch,
            "evaluation_steps": plan.every,
            "evaluated_samples": data.total,
            "split_samples": data.parts.counts,
            "classes": self._classes(),
            "feed": feeding.feed_record(feed, curve),
            "hit": None if curve.hit is None else _hit(curve.hit),
            "diverged": {"step": loop.step, "last_finite_step": loop.last_finite} if diverged else None,
            "best": curve.best,
            "last": None if curve.last != curve.last else curve.last,
            "curve": curve.to_json(),
            "training_seconds": clocks.training / 1e9,
            "loading_seconds": clocks.loading / 1e9,
            "evaluation_seconds": clocks.evaluation / 1e9,
            "first_step_seconds": clocks.first_step / 1e9,
            "final": judged.to_json() if judged else None,
            "checkpoint_seconds": clocks.checkpoints / 1e9,
            "checkpoints": None if self.checkpoints is None else self.checkpoints.to_json(),
            "digests": {
                "split": data.parts.digest,
                "order": _order_digest(self.prepared.feed.digests()["epochs"]),
                "constants": self.rates.digests,
                "final_parameters": values.digest(dict(weights)),
            },
        }

    def _classes(self) -> dict[str, Any]:
        bias = self.data.class_bias(self.loop.step)
        return {"given": list(bias.given), "available": list(bias.available)}


def begin(
    job: RunJob,
    prepared: Prepared,
    together: Together = Together(),
    checkpoints: Optional[Mapping[str, Any]] = None,
) -> Session:
    """Return the training before its first step, the program with the constants of that step.

    Parameters
    ----------
    job, prepared
        The run.
    together : Together
        Who else makes it.
    checkpoints : mapping or None
        Of :class:`~benchmarker.training.checkpoint.CheckpointSettings`, if any are to be written or gone on from.
    """
    graph, training = prepared.graph, made(Training, job.training or {}, "the recipe")
    data, plan, rates = plan_of(training, Path(str(job.data)), graph, job.seed, job.optimizer)
    rates.give(prepared.program, 0)

    def weights() -> Weights:
        return together.weights(prepared.program)

    loop = TrainingLoop(
        prepared.program,
        prepared.feed,
        Evaluator(weights, _inference(prepared), graph, data.evaluation),
        rates,
        training,
        plan,
        job.batch_size,
        Curve(training, data.total),
        has_cross_entropy(graph),
        together=together,
    )
    session = Session(job, prepared, data, rates, plan, loop, together)
    return session if checkpoints is None else _kept(session, CheckpointSettings(**checkpoints))


def _kept(session: Session, settings: CheckpointSettings) -> Session:
    """Return the training with what writes its checkpoints, or goes on from one."""
    job, prepared = session.job, session.prepared
    writer = Writer(
        prepared.framework_name,
        prepared.framework.version(),
        dict(job.framework_options),
        job.device.type,
        job.precision,
        prepared.program.optimizer_variant(),
    )
    subject = subject_of(settings, job.seed, session.data, session.rates)
    held = Held(prepared.program, session.rates, session.plan, subject, writer)
    checkpoints = Checkpoints(settings, held, job.batch_size)
    session.loop.keep = checkpoints
    return replace(session, checkpoints=checkpoints, resumes=settings.start is not None)


def _inference(prepared: Prepared) -> Callable[[Graph, Weights], Program]:
    return lambda graph, weights: prepared.build(graph, weights, "inference")


def _hit(row: Any) -> dict[str, Any]:
    names = ("step", "samples", "training_seconds", "loading_seconds", "evaluation_seconds")
    return {name: getattr(row, name) for name in names}


def _order_digest(epochs: list[str]) -> str:
    """Return one digest of the orders of all epochs."""
    return f"sha256:{hashlib.sha256(' '.join(epochs).encode()).hexdigest()}"
