"""A worker's life: do the job, send the result, or say what went wrong and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarker.errors import BenchmarkerError
from benchmarker.problems.files import load_object
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import from_json
from benchmarker.worker.stages import Stages

OUT_OF_MEMORY_SIGNS = (
    "out of memory",
    "can't allocate memory",
    "cannot allocate memory",
    "unable to allocate",
    "std::bad_alloc",
    "bad_alloc",
    "resource_exhausted",
    "resourceexhausted",
    "oom when allocating",
)
MAX_MESSAGE = 100_000


def _message(error: BaseException) -> str:
    """Return an error's text, of which the orchestrator keeps the beginning."""
    try:
        return str(error)[:MAX_MESSAGE] or type(error).__name__
    except Exception:  # a broken __str__ of somebody's exception
        return type(error).__name__


def is_out_of_memory(error: BaseException, signs: tuple[str, ...] = ()) -> bool:
    """Tell whether an error, or one that caused it, is the lack of memory."""
    text = f"{type(error).__name__}: {_message(error)}".lower()
    if isinstance(error, MemoryError):
        return True
    if any(sign.lower() in text for sign in (*OUT_OF_MEMORY_SIGNS, *signs)):
        return True
    return error.__cause__ is not None and is_out_of_memory(error.__cause__, signs)


HANDLERS: Mapping[str, str] = {
    "run": "benchmarker.worker.jobs.run:run",
    "train": "benchmarker.worker.jobs.train:train",
    "rank": "benchmarker.worker.jobs.rank:run_rank",
    "rank_train": "benchmarker.worker.jobs.rank_train:train_rank",
    "collective": "benchmarker.worker.jobs.collective:run_collective",
    "serve": "benchmarker.worker.jobs.serve:serve",
    "help": "benchmarker.worker.jobs.help:help_ranks",
    "reference": "benchmarker.worker.jobs.reference:compute_reference",
    "probes": "benchmarker.worker.jobs.probes:compute_probes",
    "calibrate": "benchmarker.worker.jobs.calibrate:calibrate",
    "latency": "benchmarker.worker.jobs.latency:measure_latency",
    "conformance": "benchmarker.worker.jobs.conformance:check",
    "operator_gradients": "benchmarker.worker.jobs.conformance:check_operator_gradients",
    "problem_gradients": "benchmarker.worker.jobs.conformance:check_problem_gradients",
    "node_tests": "benchmarker.worker.jobs.onnx:check_nodes",
    "export": "benchmarker.worker.jobs.export_onnx:export",
    "unpack": "benchmarker.worker.jobs.onnx:unpack",
}
"""What does each kind of job; imported late, since each needs other modules, and that belongs to its time."""


def work(
    message: Mapping[str, Any],
    events: int,
    control: int,
    start_ns: int,
    shared: Mapping[str, Any] | None = None,
) -> int:
    """Do a job and return the exit status.

    Parameters
    ----------
    message : mapping
        The job as JSON values.
    events, control : int
        File descriptors of the two pipes.
    start_ns : int
        Nanoseconds from the launch to the worker's first line.
    shared : mapping, optional
        What a forked worker has in common with others; see :mod:`benchmarker.worker.warm_server`.
    """
    channel = Channel(events, control)
    if shared is not None:
        channel.send("forked", shared=shared)
    job = from_json(message)
    stages = Stages(channel)
    stages.seconds["process_start"] = start_ns / 1e9
    try:
        load_object(HANDLERS[job.kind])(job, channel, stages)
    except Exception as error:
        # A broken plugin's sentence has the exception itself behind it, which its author needs.
        if not isinstance(error, BenchmarkerError) or error.__cause__ is not None:
            import traceback

            traceback.print_exc()
        channel.send(
            "error",
            stage=stages.current,
            type=type(error).__name__,
            message=_message(error),
            out_of_memory=is_out_of_memory(error, stages.out_of_memory_signs),
        )
        return 1
    return 0
