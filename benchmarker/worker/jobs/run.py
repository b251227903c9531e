"""The measured run: prepare, verify, first step, warm up, sample, and the passes that would disturb sampling."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarker.api.problem import OPERATOR
from benchmarker.api.program import Program
from benchmarker.errors import UnsupportedError
from benchmarker.graph.graph import Graph
from benchmarker.worker.channel import Channel
from benchmarker.worker.first_step import first_step
from benchmarker.worker.job import RunJob
from benchmarker.worker.jobs.results import result_of
from benchmarker.worker.loading import load_problem
from benchmarker.worker.program import Prepared, prepare
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.data.batches import BatchFeeder
    from benchmarker.worker.measurement.sampling import Samples
    from benchmarker.worker.measurement.timing_protocol import Measured

    Arrays = dict[str, npt.NDArray[Any]]

MIN_PASS_SECONDS, MAX_PASS_SECONDS = 0.03, 1.0


def run(job: RunJob, channel: Channel, stages: Stages) -> None:
    """Run the job and send its result."""
    prepared = prepare(job, channel, stages)
    first, fault = first_step(job, prepared, channel, stages)
    if fault:
        return
    # Imported here: together with the framework's import it would be part of that time.
    from benchmarker.worker.measurement.timed_part import loss_of, measure
    from benchmarker.worker.verification.after_timing import last_step, prove

    training = job.mode == "training"
    loss_first = loss_of(prepared.program, first) if training else None
    measured = measure(job, prepared, channel, stages, first)
    generation = _generation(prepared, measured)  # before further ones are made
    last = last_step(prepared, measured)
    loss_last = loss_of(prepared.program, measured.samples.output) if training else None
    taken = _taken(prepared.feed)  # before the untimed passes, whose number of steps is the machine's
    accuracy = _accuracy(job, prepared, stages)  # before further steps change the weights
    with stages.stage("verify_again"):
        proof = prove(job, prepared, measured, last, stages)
    channel.send("proof", **proof.to_json())
    if proof.failed:
        return
    breakdown, profile = _untimed_passes(job, prepared, measured.samples, channel, stages)
    operator = _operator(job, prepared, stages)
    result = result_of(
        measured,
        prepared.framework,
        stages,
        losses=(loss_first, loss_last),
        data=taken,
        accuracy=accuracy,
        breakdown=breakdown,
        profile=profile,
        operator=operator,
        generation=generation,
    )
    channel.send("result", **result)


def _generation(prepared: Prepared, measured: Measured) -> dict[str, Any] | None:
    """Return when the tokens of the timed generations were there; None of anything else."""
    if prepared.mode != "generation":
        return None
    from benchmarker.worker.generation import GenerationProgram, token_times

    assert isinstance(prepared.program, GenerationProgram)
    return token_times(prepared.program.times, measured.windows, measured.samples.steps)


def _taken(feed: BatchFeeder) -> dict[str, Any]:
    """Return which mini-batches the steps so far have taken."""
    return {"distinct_batches": feed.distinct, "resident_bytes": feed.resident_bytes, **feed.digests()}


def _untimed_passes(
    job: RunJob, prepared: Prepared, timed: Samples, channel: Channel, stages: Stages
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Run what would disturb the timed part: monitors that look closely, the parts of a step, its operators."""
    from benchmarker.worker.measurement import sampling
    from benchmarker.worker.measurement.breakdown import breakdown

    seconds = min(MAX_PASS_SECONDS, max(MIN_PASS_SECONDS, timed.total_seconds / 10))
    channel.send("untimed_pass_started", pid=os.getpid())
    if channel.wait_for("go", "skip") == "go":
        with stages.stage("monitor"):
            sampling.sample(prepared.step, prepared.program.synchronize, prepared.feed, seconds=seconds)
        channel.send("untimed_pass_ended")
    if not job.breakdown:
        return None, None
    with stages.stage("breakdown"):
        parts = breakdown(prepared.program, job.mode, prepared.feed.host_batch, seconds=seconds)
    with stages.stage("profile"):
        return parts, _profile(job, prepared, seconds, timed.median_seconds)


def _profile(job: RunJob, prepared: Prepared, seconds: float, step_seconds: float) -> dict[str, Any]:
    """Profile some steps, and write their trace beside what the record says of them."""
    from benchmarker.worker.measurement.profile import by_node, steps_for, unprofiled
    from benchmarker.worker.measurement.trace import write_trace

    program = prepared.program
    batch = program.load(prepared.feed.host_batch())
    try:
        profile = program.profile(batch, steps_for(seconds, step_seconds))
    except UnsupportedError as reason:
        return unprofiled(str(reason))
    if job.trace is not None:
        write_trace(Path(job.trace), profile, prepared.built, f"{prepared.graph.name}, {job.mode}")
    return by_node(profile, prepared.built, step_seconds)


def _operator(job: RunJob, prepared: Prepared, stages: Stages) -> dict[str, Any] | None:
    """Return how exact and repeatable a single operator is; a trained one is another at each step."""
    if job.mode == "training" or load_problem(job.problem).task != OPERATOR:
        return None
    from benchmarker.worker.verification.exactness import exactness

    with stages.stage("exactness"):
        return exactness(job, prepared)


def _accuracy(job: RunJob, prepared: Prepared, stages: Stages) -> float | None:
    """Return how well the program's weights classify a data set; drawn labels mean nothing."""
    if job.data is None:
        return None
    from benchmarker.data.batches import mini_batches
    from benchmarker.worker.measurement.accuracy import accuracy

    def build(graph: Graph, parameters: Arrays) -> Program:
        return prepared.build(graph, parameters, "inference")

    graph = load_problem(job.problem).graph(job.batch_size, **job.problem_parameters)
    parameters = prepared.program.parameters() if job.mode == "training" else prepared.parameters
    with stages.stage("evaluate"):
        return accuracy(graph, mini_batches(graph, job.seed, job.data), parameters, build)
