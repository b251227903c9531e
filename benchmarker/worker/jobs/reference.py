"""The job that computes the reference and leaves it in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarker.errors import BenchmarkerError
from benchmarker.worker.batches import batches_of
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import ReferenceJob
from benchmarker.worker.loading import problem_graph
from benchmarker.worker.stages import Stages


def compute_reference(job: ReferenceJob, channel: Channel, stages: Stages) -> None:
    """Compute the reference of the job's problem for its first samples and save it."""
    from benchmarker.data import values
    from benchmarker.worker.generation import completed
    from benchmarker.worker.verification import reference
    from benchmarker.worker.verification.generations import reference_tokens
    from benchmarker.worker.verification.micro_batches import check_parts

    with stages.stage("initialise"):
        whole = problem_graph(job, job.batch_size)
        parameters = values.draw_parameters(whole, job.seed)
        batch = batches_of(job, whole).batch(0)
        if job.samples != job.batch_size:
            batch = values.first_samples(batch, job.samples)
        graph = whole = problem_graph(job, job.samples)
    with stages.stage("reference"):
        if job.micro_batch is not None:
            part = problem_graph(job, job.micro_batch)
            check_parts(whole, part, parameters, batch)
            # The whole mini-batch proves that the function is unchanged, where it is.
            graph = part if part.is_another_in_parts else whole
        digests = {"parameters": values.digest(parameters), "batch": values.digest(batch)}
        mode, tokens = job.mode, None
        if mode == "generation":
            tokens = reference_tokens(job, graph, parameters, batch)
            mode, batch = "inference", completed(batch, tokens)
        expected = reference.compute(graph, parameters, batch, mode, job.precision)
        mean = job.samples < job.batch_size and _is_mean(job, parameters, batch)
        reference.save(Path(job.path), expected, digests, mean_loss=mean, tokens=tokens)
    channel.send("result", seconds=stages.seconds)


def _is_mean(job: ReferenceJob, parameters: dict[str, Any], batch: dict[str, Any]) -> bool:
    """Tell whether the loss is a mean over samples, so that it stays the same where each of them is repeated."""
    from benchmarker.data import values
    from benchmarker.worker.verification.micro_batches import check_mean

    if job.mode != "training":
        return False
    try:
        check_mean(problem_graph(job, 2), problem_graph(job, 1), parameters, values.first_samples(batch, 2))
    except BenchmarkerError:
        return False
    return True
