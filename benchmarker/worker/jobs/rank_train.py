"""Training to accuracy by several ranks: each verified as in any run of them, then one loop until the target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.worker.channel import Channel
from benchmarker.worker.job import RankTrainJob
from benchmarker.worker.jobs.results import result_of
from benchmarker.worker.loading import load_scheme
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarker.worker.ranks.prepare import Rank
    from benchmarker.worker.training.final import Recomputed
    from benchmarker.worker.training.session import Session
    from benchmarker.worker.verification.findings import Check

ONE_ANSWERS = "rank 0 makes it"
MEAN_EVALUATED = "what is evaluated is the mean of all ranks' weights"


def train_rank(job: RankTrainJob, channel: Channel, stages: Stages) -> None:
    """Train with the other ranks as the job's recipe says and send the result."""
    from benchmarker.worker.ranks.group import Group
    from benchmarker.worker.ranks.prepare import prepare_rank

    group = Group(job.world, channel, Path(job.folder))
    rank = prepare_rank(job, load_scheme(job), group, channel, stages)
    # Imported here: together with the framework's import it would be part of that time.
    from benchmarker.worker.ranks.first_steps import TrainingSteps
    from benchmarker.worker.ranks.proof import RankProof
    from benchmarker.worker.ranks.together import RanksTogether
    from benchmarker.worker.training.session import begin

    prepared = rank.prepared
    with stages.stage("initialise"):
        session = begin(job, prepared, RanksTogether(group, rank.scheme.is_consistent))
    loop, steps = session.loop, TrainingSteps(prepared, stages, session)
    with stages.stage("evaluate"):
        loop.evaluate()
    proof = RankProof(job, rank, stages, steps)
    _, verification = proof.start()
    if verification is not None:
        channel.send("verification", **verification.to_json())
        if verification.status == "failed":
            group.leave_unfinished()
            return
    loss_first = steps.loss_first
    with session.open_feed() as feed:
        measured = session.measure(channel, stages)
    taken = session.taken()
    with stages.stage("parts"):
        parts = _parts(job, rank, measured.samples.median_seconds)
    with stages.stage("evaluate"):
        weights = session.together.weights(prepared.program)
        skipped = prepared.program.skipped_updates(loop.step)
        final, checks = _judged(session, rank, weights)
    with stages.stage("verify_again"):
        session.rates.give_base(prepared.program)
        again = proof.after_timing(measured, session.rates.numbers(loop.step))
    channel.send("proof", **replace(again, checks=(*again.checks, *checks)).to_json())
    rank.leave()
    result = result_of(
        measured,
        prepared.framework,
        stages,
        losses=(loss_first, loop.loss),
        data=taken,
        accuracy=final.correct / final.samples if final else None,
        training={**session.record(final, weights, feed), "skipped_steps": skipped, "divergence": None},
        rank=rank.facts(parts),
    )
    channel.send("result", **result)


def _parts(job: RankTrainJob, rank: Rank, step_seconds: float) -> dict[str, list[float]]:
    from benchmarker.worker.ranks.exchange_alone import time_exchange_alone
    from benchmarker.worker.ranks.timing import time_compute

    compute = time_compute(rank, step_seconds)
    return {"compute": compute, **time_exchange_alone(job, rank, len(compute))}


def _judged(
    session: Session, rank: Rank, weights: Mapping[str, Any]
) -> tuple[Recomputed | None, tuple[Check, ...]]:
    """Return what the reference makes of the final weights, on rank 0, and what was looked at."""
    from benchmarker.worker.training import final
    from benchmarker.worker.verification.findings import left_out

    # What all ranks are asked for may be in parts on each of them: weights and state.
    is_same = rank.scheme.is_consistent
    meant = session.meant(weights) if is_same else left_out(final.EVALUATED, MEAN_EVALUATED)
    if rank.group.rank:
        session.loop.evaluator.take()
        return None, (left_out(final.NAME, ONE_ANSWERS), meant)
    with rank.group.working():
        found, judged = session.judged(weights)
    return found, (judged, meant)
