"""The measured run of one rank: meet the others, verify, time the same steps as they, and look again."""

from __future__ import annotations

from pathlib import Path

from benchmarker.worker.channel import Channel
from benchmarker.worker.job import RankJob
from benchmarker.worker.jobs.results import result_of
from benchmarker.worker.loading import load_scheme
from benchmarker.worker.stages import Stages


def run_rank(job: RankJob, channel: Channel, stages: Stages) -> None:
    """Run the job and send its result."""
    from benchmarker.worker.ranks.group import Group
    from benchmarker.worker.ranks.prepare import prepare_rank

    group = Group(job.world, channel, Path(job.folder))
    rank = prepare_rank(job, load_scheme(job), group, channel, stages)
    # Imported here: together with the framework's import it would be part of that time.
    from benchmarker.worker.measurement.timed_part import loss_of
    from benchmarker.worker.ranks.exchange_alone import time_exchange_alone
    from benchmarker.worker.ranks.first_steps import FirstSteps
    from benchmarker.worker.ranks.proof import RankProof
    from benchmarker.worker.ranks.timing import measure_rank, time_parts

    proof = RankProof(job, rank, stages, FirstSteps(rank.prepared, stages))
    first, verification = proof.start()
    if verification is not None:
        channel.send("verification", **verification.to_json())
        if verification.status == "failed":
            group.leave_unfinished()
            return
    program = rank.prepared.program
    loss_first = loss_of(program, first)
    measured = measure_rank(job, rank, channel, stages, first)
    loss_last = loss_of(program, measured.samples.output)
    feed = rank.prepared.feed
    # Before the parts, whose number is the machine's.
    taken = {"distinct_batches": feed.distinct, "resident_bytes": feed.resident_bytes, **feed.digests()}
    with stages.stage("parts"):
        parts = time_parts(rank, measured.samples.median_seconds)
        parts.seconds.update(time_exchange_alone(job, rank, len(parts.seconds["compute"])))
    with stages.stage("verify_again"):
        found = proof.after_timing(measured)
    channel.send("proof", **found.to_json())
    if found.failed:
        group.leave_unfinished()
        return
    rank.leave()
    result = result_of(
        measured,
        rank.prepared.framework,
        stages,
        losses=(loss_first, loss_last),
        data=taken,
        rank=rank.facts(parts.seconds, parts.spans),
    )
    channel.send("result", **result)
