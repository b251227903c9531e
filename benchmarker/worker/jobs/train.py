"""Training to accuracy: verified as any run is, then the loop until the target, and the final weights judged again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarker.worker.channel import Channel
from benchmarker.worker.first_step import first_step
from benchmarker.worker.job import TrainJob
from benchmarker.worker.jobs.results import result_of
from benchmarker.worker.program import prepare
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    from benchmarker.worker.training.session import Session


def train(job: TrainJob, channel: Channel, stages: Stages) -> None:
    """Train as the job's recipe says and send the result."""
    prepared = prepare(job, channel, stages)
    # Imported here: together with the framework's import it would be part of that time.
    from benchmarker.worker.training.session import begin

    with stages.stage("initialise"):
        session = begin(job, prepared, checkpoints=job.checkpoints)
    loop = session.loop
    if not session.resumes:
        with stages.stage("evaluate"):
            loop.evaluate()
    first, fault = _first_step(session, channel, stages)
    if fault:
        return
    loop.count_first_step(first, int(stages.seconds["compile"] * 1e9))
    loss_first = loop.loss
    _resume(session, stages)
    with session.open_feed() as feed:
        measured = session.measure(channel, stages)
    from benchmarker.worker.verification.after_timing import last_step, prove
    from benchmarker.worker.verification.findings import Proof

    last, taken = last_step(prepared, measured), session.taken()
    with stages.stage("evaluate"):
        weights = prepared.program.evaluation_parameters()
        skipped = prepared.program.skipped_updates(loop.step)
        final, judged = session.judged(weights)
        meant = session.meant(weights)
    with stages.stage("verify_again"):
        trained = replace(prepared, numbers=session.rates.numbers(loop.step))
        proof = prove(session.job_of_base(), trained, measured, last, stages)
        proof = Proof(proof.seconds, (*proof.checks, judged, meant))
    channel.send("proof", **proof.to_json())
    diverging = None if job.divergence is None else _divergence(session, job.divergence, stages)
    result = result_of(
        measured,
        prepared.framework,
        stages,
        losses=(loss_first, loop.loss),
        data=taken,
        accuracy=final.correct / final.samples if final else None,
        training={**session.record(final, weights, feed), "skipped_steps": skipped, "divergence": diverging},
    )
    channel.send("result", **result)


def _resume(session: Session, stages: Stages) -> None:
    """Go on from a checkpoint if the job names one: what was verified is left for what had come of it."""
    if session.checkpoints is None or not session.resumes:
        return
    with stages.stage("resume"):
        session.prepared.feed.resume_from(
            session.checkpoints.resume_from(session.loop, session.prepared.graph)
        )


def _first_step(session: Session, channel: Channel, stages: Stages) -> tuple[Any, bool]:
    """Return what the first step returned, and whether it was found to compute another function."""
    # Its update is held to the constants of that very step.
    job = replace(session.job, optimizer=session.rates.optimizer(0))
    return first_step(job, session.prepared, channel, stages)


def _divergence(session: Session, steps: int, stages: Stages) -> dict[str, Any]:
    """Return how far the first steps, made again by a program built anew, are from the reference's."""
    from benchmarker.worker.training.divergence import Trained, divergence

    prepared, optimizer = session.prepared, session.job.optimizer
    with stages.stage("divergence"):
        program = prepared.build(prepared.built)
        trained = Trained(
            prepared.graph, prepared.parameters, program, prepared.feed, optimizer, session.rates
        )
        return divergence(trained, steps).to_json()
