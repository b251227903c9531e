"""A worker's life: do the job, send the result, or say what went wrong and where."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarker.errors import BenchmarkerError
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import Job
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


def is_out_of_memory(error: BaseException, signs: tuple[str, ...] = ()) -> bool:
    """Tell whether an error, or one that caused it, is the lack of memory."""
    text = f"{type(error).__name__}: {error}".lower()
    if isinstance(error, MemoryError):
        return True
    if any(sign.lower() in text for sign in (*OUT_OF_MEMORY_SIGNS, *signs)):
        return True
    return error.__cause__ is not None and is_out_of_memory(error.__cause__, signs)


def _action(name: str) -> Callable[[Job, Channel, Stages], None]:
    # Imported late: each action needs other modules, and importing them belongs to its time.
    if name == "run":
        from benchmarker.worker.run import run

        return run
    if name == "reference":
        from benchmarker.worker.reference_job import compute_reference

        return compute_reference
    if name == "findings":
        from benchmarker.worker.findings_job import compute_findings

        return compute_findings
    if name == "calibrate":
        from benchmarker.worker.calibrate_job import calibrate

        return calibrate
    if name == "export":
        from benchmarker.worker.export_job import export

        return export
    if name in ("unpack_onnx", "check_onnx"):
        from benchmarker.worker.onnx_job import check_onnx, unpack_onnx

        return unpack_onnx if name == "unpack_onnx" else check_onnx
    from benchmarker.worker.check_job import check, check_gradients

    return check_gradients if name == "check_gradients" else check


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
    job = Job.from_json(message)
    stages = Stages(channel)
    stages.seconds["process_start"] = start_ns / 1e9
    try:
        _action(job.action)(job, channel, stages)
    except Exception as error:
        # A broken plugin's sentence has the exception itself behind it, which its author needs.
        if not isinstance(error, BenchmarkerError) or error.__cause__ is not None:
            import traceback

            traceback.print_exc()
        channel.send(
            "error",
            stage=stages.current,
            type=type(error).__name__,
            message=str(error) or type(error).__name__,
            out_of_memory=is_out_of_memory(error, stages.out_of_memory_signs),
        )
        return 1
    return 0
