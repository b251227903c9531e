"""The job that computes the reference and leaves it in a file."""

from __future__ import annotations

from pathlib import Path

from benchmarker.worker.channel import Channel
from benchmarker.worker.job import Job, problem_graph
from benchmarker.worker.stages import Stages


def compute_reference(job: Job, channel: Channel, stages: Stages) -> None:
    """Compute the reference of the job's problem for its first samples and save it."""
    from benchmarker.worker import reference, values
    from benchmarker.worker.batches import mini_batches
    from benchmarker.worker.micro_batching import check_mean, has_statistics

    if job.reference is None:
        raise ValueError("a reference job needs the file to write")
    with stages.stage("initialise"):
        whole = problem_graph(job, job.batch_size)
        parameters = values.draw_parameters(whole, job.seed)
        batch = mini_batches(whole, job.seed, job.data).batch(0)
        if job.verification_samples != job.batch_size:
            batch = values.first_samples(batch, job.verification_samples)
        graph = whole = problem_graph(job, job.verification_samples)
    with stages.stage("reference"):
        if job.micro_batch is not None:
            part = problem_graph(job, job.micro_batch)
            check_mean(whole, part, parameters, batch)
            # Without statistics of samples, the whole mini-batch proves that the function is unchanged.
            graph = part if has_statistics(part) else whole
        expected = reference.compute(graph, parameters, batch, job.mode, job.precision)
        digests = {"parameters": values.digest(parameters), "batch": values.digest(batch)}
        reference.save(Path(job.reference), expected, digests)
    channel.send("result", seconds=stages.seconds)
