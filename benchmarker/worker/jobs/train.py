"""Training to accuracy: verified as any run is, then the loop until the target, and the final weights judged again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from benchmarker.worker import facts
from benchmarker.worker.channel import Channel
from benchmarker.worker.first_step import first_step
from benchmarker.worker.job import TrainJob
from benchmarker.worker.program import Prepared, prepare
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from benchmarker.api.framework import Program
    from benchmarker.data.feeding import TrainingFeed
    from benchmarker.graph.graph import Graph
    from benchmarker.worker.measurement.timing_protocol import Measured
    from benchmarker.worker.training.checkpoints import Checkpoints
    from benchmarker.worker.training.data import TrainingData
    from benchmarker.worker.training.final import Recomputed
    from benchmarker.worker.training.loop import Plan, TrainingLoop
    from benchmarker.worker.training.rates import Rates
    from benchmarker.worker.verification.findings import Check

    Weights = Mapping[str, npt.NDArray[np.generic]]

WARM_UP = 3
"""Steps after the first that are synchronised one by one, to choose how many the samples after them have."""


@dataclass(frozen=True)
class _Begun:
    """A training that is ready to begin."""

    job: TrainJob
    prepared: Prepared
    data: TrainingData
    rates: Rates
    plan: Plan
    loop: TrainingLoop
    checkpoints: Optional[Checkpoints]

    @property
    def resumes(self) -> bool:
        """Whether it goes on from a checkpoint."""
        return (self.job.checkpoints or {}).get("start") is not None


def train(job: TrainJob, channel: Channel, stages: Stages) -> None:
    """Train as the job's recipe says and send the result."""
    prepared = prepare(job, channel, stages)
    with stages.stage("initialise"):
        begun = _begin(job, prepared)
    loop = begun.loop
    if not begun.resumes:
        with stages.stage("evaluate"):
            loop.evaluate()
    first, fault = _first_step(begun, channel, stages)
    if fault:
        return
    loop.count_first_step(first, int(stages.seconds["compile"] * 1e9))
    loss_first = loop.loss
    _go_on(begun, stages)
    with _feed(begun) as feed:
        measured = _measure(begun, channel, stages)
    # Imported here: together with the framework's import it would be part of that time.
    from benchmarker.worker.verification.after_timing import last_step, prove
    from benchmarker.worker.verification.findings import Proof

    last, taken = last_step(prepared, measured), _taken(begun)
    with stages.stage("evaluate"):
        weights = prepared.program.evaluation_parameters()
        skipped = prepared.program.skipped_updates(loop.step)
        final, judged = _final(begun, weights)
        meant = _meant(begun, weights)
    with stages.stage("verify_again"):
        trained = replace(prepared, numbers=begun.rates.numbers(loop.step))
        proof = prove(_with_constants(begun), trained, measured, last, stages)
        proof = Proof(proof.seconds, (*proof.checks, judged, meant))
    channel.send("proof", **proof.to_json())
    diverging = None if job.divergence is None else _divergence(begun, job.divergence, stages)
    channel.send(
        "result",
        **measured.to_json(),
        training={**_told(begun, final, weights, feed), "skipped_steps": skipped, "divergence": diverging},
        accuracy=final.correct / final.samples if final else None,
        breakdown=None,
        profile=None,
        operator=None,
        seconds=stages.seconds,
        stage_compilations=None if stages.count_compilations() is None else stages.compilations,
        loss_first=loss_first,
        loss_last=loop.loss,
        data=taken,
        libraries=prepared.framework.libraries(),
        packages=facts.packages(),
        python=facts.python(),
        **facts.clock(),
    )


def _begin(job: TrainJob, prepared: Prepared) -> _Begun:
    """Return the training before its first step, the program with the constants of that step."""
    from benchmarker.training.fields import made
    from benchmarker.training.recipe import Training
    from benchmarker.worker.training.begin import plan_of
    from benchmarker.worker.training.curve import Curve
    from benchmarker.worker.training.evaluation import Evaluator, has_cross_entropy
    from benchmarker.worker.training.loop import TrainingLoop

    graph, training = prepared.graph, made(Training, job.training or {}, "the recipe")
    data, plan, rates = plan_of(training, Path(str(job.data)), graph, job.seed, job.optimizer)
    rates.give(prepared.program, 0)
    loop = TrainingLoop(
        prepared.program,
        prepared.feed,
        Evaluator(prepared.program.evaluation_parameters, _inference(prepared), graph, data.evaluation),
        rates,
        training,
        plan,
        job.batch_size,
        Curve(training, data.total),
        has_cross_entropy(graph),
    )
    checkpoints = _checkpoints(job, prepared, data, plan, rates)
    if checkpoints is not None:
        loop.keep = checkpoints
    return _Begun(job, prepared, data, rates, plan, loop, checkpoints)


def _checkpoints(
    job: TrainJob, prepared: Prepared, data: TrainingData, plan: Plan, rates: Rates
) -> Optional[Checkpoints]:
    """Return what writes checkpoints of the training, or goes on from one; None if neither was asked for."""
    if job.checkpoints is None:
        return None
    from benchmarker.training.checkpoint import CheckpointSettings, Writer
    from benchmarker.worker.training.checkpoints import Checkpoints, Held, subject_of

    settings = CheckpointSettings(**job.checkpoints)
    writer = Writer(
        prepared.framework_name,
        prepared.framework.version(),
        dict(job.framework_options),
        job.device.type,
        job.precision,
        prepared.program.optimizer_variant(),
    )
    subject = subject_of(settings, job.seed, data, rates)
    return Checkpoints(settings, Held(prepared.program, rates, plan, subject, writer), job.batch_size)


def _go_on(begun: _Begun, stages: Stages) -> None:
    """Go on from a checkpoint if the job names one: what was verified is left for what had come of it."""
    if begun.checkpoints is None or not begun.resumes:
        return
    with stages.stage("resume"):
        begun.prepared.feed.go_on(begun.checkpoints.go_on(begun.loop, begun.prepared.graph))


def _inference(prepared: Prepared) -> Callable[[Graph, Weights], Program]:
    return lambda graph, weights: prepared.build(graph, weights, "inference")


def _first_step(begun: _Begun, channel: Channel, stages: Stages) -> tuple[Any, bool]:
    """Return what the first step returned, and whether it was found to compute another function."""
    # Its update is held to the constants of that very step.
    job = replace(begun.job, optimizer=begun.rates.optimizer(0))
    return first_step(job, begun.prepared, channel, stages)


def _feed(begun: _Begun) -> TrainingFeed:
    """Return what the steps after the first take their mini-batches from."""
    from benchmarker.worker.training.feed import open_feed

    loop, plan = begun.loop, begun.plan
    return open_feed(begun.prepared.feed, begun.data.train, begun.job.prefetch, loop.row, plan.most)


def _measure(begun: _Begun, channel: Channel, stages: Stages) -> Measured:
    """Train to the end, and return the time of the steps as any run tells it."""
    from benchmarker.worker.measurement import evidence, overhead, sampling
    from benchmarker.worker.measurement.loss_curve import LossCurve
    from benchmarker.worker.measurement.sampling import Samples
    from benchmarker.worker.measurement.timing_protocol import TimingProtocol
    from benchmarker.worker.training.pulse import TrainingPulse

    job, loop, program, plan = begun.job, begun.loop, begun.prepared.program, begun.plan
    with stages.stage("warmup"):
        warm = loop.warm_up(_warm_until(begun))
        costs = overhead.costs(program.synchronize, loop.output)
    step_seconds = sorted(warm)[len(warm) // 2] / 1e9 if warm else stages.seconds["compile"]
    begin, most = loop.step, plan.most - loop.step
    block = sampling.choose_block_steps(step_seconds, costs.sample_seconds, steps=most, target_seconds=0.0)
    losses, protocol = LossCurve(lambda _: loop.loss), TimingProtocol(job, begun.prepared, channel, stages)
    protocol.wait(None, step_seconds)
    with protocol.timed():
        before = evidence.read(job.orchestrator)
        pulse = TrainingPulse(channel, loop, plan.most, protocol.checkpoints, losses, protocol.probe)
        wall = loop.run(block, pulse)
        steps = loop.step - begin
        protocol.checkpoints.note(steps)
        seen = evidence.between(before, evidence.read(job.orchestrator), steps=steps)
    losses.note(loop.step, loop.output)
    return protocol.finish(
        Samples(warm, loop.output, sum(warm), len(warm)),
        Samples(loop.samples, loop.output, wall, steps, block),
        costs,
        seen,
        losses,
    )


def _warm_until(begun: _Begun) -> int:
    """Return the last step that is synchronised by itself; a training that goes on may end with any evaluation."""
    loop = begun.loop
    most = min(loop.step + WARM_UP, begun.plan.most - 1)
    return min(most, loop.step + loop.steps_to_evaluation() - 1) if begun.resumes else most


def _taken(begun: _Begun) -> dict[str, Any]:
    """Return which mini-batches the steps have taken: all of them different ones."""
    feed = begun.prepared.feed
    return {"distinct_batches": feed.taken, "resident_bytes": 0, **feed.digests()}


def _with_constants(begun: _Begun) -> TrainJob:
    """Return the job with the constants that the program has now: those of the recipe before any schedule."""
    base = begun.job.optimizer
    begun.rates.give_base(begun.prepared.program)
    return replace(begun.job, optimizer=base)


def _final(begun: _Begun, weights: Weights) -> tuple[Optional[Recomputed], Check]:
    """Return what the reference makes of the final weights, and the verdict."""
    import numpy as np

    from benchmarker.worker.training import final

    finite = all(np.isfinite(array).all() for array in weights.values())
    loop, job = begun.loop, begun.job
    loop.evaluator.take()
    if not finite:
        return None, final.check(None, None)
    seconds = max(final.MIN_SECONDS, final.RUN_SHARE * loop.clocks.training / 1e9)
    found = final.recomputed(begun.prepared.graph, weights, loop.evaluator, job.precision, seconds)
    last = loop.curve.rows[-1]
    return found, final.check(found, last.correct if last.step == loop.step else None)


def _meant(begun: _Begun, weights: Weights) -> Check:
    """Return whether these weights are the ones to evaluate."""
    from benchmarker.worker.training import final

    job, prepared = begun.job, begun.prepared
    return final.evaluated_check(prepared.program, job.optimizer, prepared.graph, weights, job.precision)


def _told(begun: _Begun, final: Optional[Recomputed], weights: Weights, feed: TrainingFeed) -> dict[str, Any]:
    """Return what the record says of the training."""
    from benchmarker.data import values
    from benchmarker.worker.training import feed as feeding
    from benchmarker.worker.training.curve import DIVERGED

    loop, plan, curve, data = begun.loop, begun.plan, begun.loop.curve, begun.data
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
        "classes": _classes(begun),
        "feed": feeding.told(feed, curve),
        "hit": None if curve.hit is None else _hit(curve.hit),
        "diverged": {"step": loop.step, "last_finite_step": loop.last_finite} if diverged else None,
        "best": curve.best,
        "last": None if curve.last != curve.last else curve.last,
        "curve": curve.to_json(),
        "training_seconds": clocks.training / 1e9,
        "loading_seconds": clocks.loading / 1e9,
        "evaluation_seconds": clocks.evaluation / 1e9,
        "first_step_seconds": clocks.first_step / 1e9,
        "final": final.to_json() if final else None,
        "checkpoint_seconds": clocks.checkpoints / 1e9,
        "checkpoints": None if begun.checkpoints is None else begun.checkpoints.to_json(),
        "digests": {
            "split": data.parts.digest,
            "order": _order_digest(begun.prepared.feed.digests()["epochs"]),
            "constants": begun.rates.digests,
            "final_parameters": values.digest(dict(weights)),
        },
    }


def _divergence(begun: _Begun, steps: int, stages: Stages) -> dict[str, Any]:
    """Return how far the first steps, made again by a program built anew, are from the reference's."""
    from benchmarker.worker.training.divergence import Trained, divergence

    prepared, optimizer = begun.prepared, begun.job.optimizer
    with stages.stage("divergence"):
        program = prepared.build(prepared.built)
        trained = Trained(prepared.graph, prepared.parameters, program, prepared.feed, optimizer, begun.rates)
        return divergence(trained, steps).to_json()


def _classes(begun: _Begun) -> dict[str, Any]:
    bias = begun.data.class_bias(begun.loop.step)
    return {"given": list(bias.given), "available": list(bias.available)}


def _hit(row: Any) -> dict[str, Any]:
    names = ("step", "samples", "training_seconds", "loading_seconds", "evaluation_seconds")
    return {name: getattr(row, name) for name in names}


def _order_digest(epochs: list[str]) -> str:
    """Return one digest of the orders of all epochs."""
    import hashlib

    return f"sha256:{hashlib.sha256(' '.join(epochs).encode()).hexdigest()}"
