"""The measured run of one rank of a collective: meet the others, exchange, and look at what came of it."""

from __future__ import annotations

from pathlib import Path

from benchmarker.worker import facts
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import CollectiveJob
from benchmarker.worker.stages import Stages


def run_collective(job: CollectiveJob, channel: Channel, stages: Stages) -> None:
    """Run the job and send its result."""
    from benchmarker.worker.ranks.collectives import CollectiveProof, prepare_collective, rank_facts
    from benchmarker.worker.ranks.group import Group
    from benchmarker.worker.ranks.timing import measure_rank

    group = Group(job.world, channel, Path(job.folder))
    ready = prepare_collective(job, group, channel, stages)
    proof = CollectiveProof(job, ready, stages)
    first, verification = proof.start()
    if verification is not None:
        channel.send("verification", **verification.to_json())
        if verification.status == "failed":
            group.leave_unfinished()
            return
    measured = measure_rank(job, ready.rank, channel, stages, first)
    with stages.stage("verify_again"):
        found = proof.after_timing(measured)
    channel.send("proof", **found.to_json())
    if found.failed:
        group.leave_unfinished()
        return
    framework = ready.rank.prepared.framework
    if job.exchange == "native":
        framework.leave()
    channel.send(
        "result",
        **measured.to_json(),
        accuracy=None,
        breakdown=None,
        profile=None,
        operator=None,
        seconds=stages.seconds,
        stage_compilations=None if stages.count_compilations() is None else stages.compilations,
        loss_first=None,
        loss_last=None,
        data={"distinct_batches": 1, "resident_bytes": ready.feed.resident_bytes, "epochs": []},
        libraries=framework.libraries(),
        packages=facts.packages(),
        python=facts.python(),
        rank=rank_facts(ready),
        **facts.clock(),
    )
