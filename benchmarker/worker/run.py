"""The measured run: prepare, verify, first step, warm up, sample, and the passes that would disturb sampling."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.errors import UnsupportedError
from benchmarker.framework import Program
from benchmarker.graph.graph import Graph
from benchmarker.problem import OPERATOR
from benchmarker.worker import facts
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import Job, load_problem
from benchmarker.worker.prepared import Prepared, prepare
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.worker.batches import Feeding
    from benchmarker.worker.sampling import Samples

    Arrays = dict[str, npt.NDArray[Any]]

SHORTEST_PASS_SECONDS, LONGEST_PASS_SECONDS = 0.03, 1.0


def run(job: Job, channel: Channel, stages: Stages) -> None:
    """Run the job and send its result."""
    prepared = prepare(job, channel, stages)
    first, fault = _first_step(job, prepared, channel, stages)
    if fault:
        return
    # Imported here: together with the framework's import it would be part of that time.
    from benchmarker.worker.measuring import loss_of, measure

    training = job.mode == "training"
    loss_first = loss_of(prepared.program, first) if training else None
    measured = measure(job, prepared, channel, stages, first)
    prepared.values(measured.samples.output)  # without a loss too no result goes unused
    loss_last = loss_of(prepared.program, measured.samples.output) if training else None
    taken = _taken(prepared.feed)  # before the passes apart, whose number of steps is the machine's
    accuracy = _accuracy(job, prepared, stages)
    breakdown, profile = _passes_apart(job, prepared, measured.samples, channel, stages)
    operator = _operator(job, prepared, stages)
    channel.send(
        "result",
        **measured.to_json(),
        accuracy=accuracy,
        breakdown=breakdown,
        profile=profile,
        operator=operator,
        seconds=stages.seconds,
        stage_compilations=None if stages.count_compilations() is None else stages.compilations,
        loss_first=loss_first,
        loss_last=loss_last,
        data=taken,
        libraries=prepared.framework.libraries(),
        packages=facts.packages(),
        python=facts.python(),
        **facts.clock(),
    )


def _taken(feed: Feeding) -> dict[str, Any]:
    """Return which mini-batches the steps so far have taken."""
    return {"distinct_batches": feed.distinct, "resident_bytes": feed.resident_bytes, **feed.digests()}


def _first_step(job: Job, prepared: Prepared, channel: Channel, stages: Stages) -> tuple[Any, bool]:
    """Return what the first step returned, and whether it was found to compute another function."""
    if job.reference is None:
        with stages.stage("compile"):
            first = prepared.step(prepared.feed())
            prepared.program.synchronize(first)
        return first, False
    from benchmarker.worker.verified_start import verified_start

    first, verification = verified_start(job, prepared, Path(job.reference), stages)
    channel.send("verification", **verification.to_json())
    return first, verification.status == "failed"


def _passes_apart(
    job: Job, prepared: Prepared, timed: Samples, channel: Channel, stages: Stages
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Run what would disturb the timed part: monitors that look closely, the parts of a step, its operators."""
    from benchmarker.worker import sampling
    from benchmarker.worker.breakdown import breakdown

    seconds = min(LONGEST_PASS_SECONDS, max(SHORTEST_PASS_SECONDS, timed.total_seconds / 10))
    channel.send("apart", pid=os.getpid())
    if channel.wait_for("go", "skip") == "go":
        with stages.stage("monitor"):
            sampling.sample_window(prepared.step, prepared.program.synchronize, prepared.feed, seconds)
        channel.send("apart_done")
    if not job.breakdown:
        return None, None
    with stages.stage("breakdown"):
        parts = breakdown(prepared.program, job.mode, prepared.feed.host_batch, seconds=seconds)
    with stages.stage("profile"):
        return parts, _profile(job, prepared, seconds, timed.median_seconds)


def _profile(job: Job, prepared: Prepared, seconds: float, step_seconds: float) -> dict[str, Any]:
    """Profile some steps, and write their trace beside what the record says of them."""
    from benchmarker.worker.operators_profile import by_node, steps_for, unprofiled
    from benchmarker.worker.trace import write_trace

    program = prepared.program
    batch = program.load(prepared.feed.host_batch())
    try:
        profile = program.profile(batch, steps_for(seconds, step_seconds))
    except UnsupportedError as reason:
        return unprofiled(str(reason))
    if job.trace is not None:
        write_trace(Path(job.trace), profile, prepared.built, f"{prepared.graph.name}, {job.mode}")
    return by_node(profile, prepared.built, step_seconds)


def _operator(job: Job, prepared: Prepared, stages: Stages) -> dict[str, Any] | None:
    """Return how exact and repeatable a single operator is; a trained one is another at each step."""
    if job.mode == "training" or load_problem(job.problem).task != OPERATOR:
        return None
    from benchmarker.worker.exactness import exactness

    with stages.stage("exactness"):
        return exactness(job, prepared)


def _accuracy(job: Job, prepared: Prepared, stages: Stages) -> float | None:
    """Return how well the program's weights classify a data set; drawn labels mean nothing."""
    if job.data is None:
        return None
    from benchmarker.worker.batches import mini_batches
    from benchmarker.worker.evaluation import accuracy

    def build(graph: Graph, parameters: Arrays) -> Program:
        return prepared.build(graph, parameters, "inference")

    graph = load_problem(job.problem).graph(job.batch_size, **job.problem_parameters)
    parameters = prepared.program.parameters() if job.mode == "training" else prepared.parameters
    with stages.stage("evaluate"):
        return accuracy(graph, mini_batches(graph, job.seed, job.data), parameters, build)
