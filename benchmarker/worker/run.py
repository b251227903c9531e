"""The measured run: import, device, initialise, build, verify, first step, warm up, sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from benchmarker.framework import Framework, Program
from benchmarker.graph.graph import Graph
from benchmarker.graph.support import check_operators, composed_operators
from benchmarker.options import parse_options
from benchmarker.worker import facts
from benchmarker.worker.channel import Channel
from benchmarker.worker.job import Job, load_framework, load_framework_plugin, problem_graph
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarker.worker.batches import Feeding
    from benchmarker.worker.sampling import Samples

    Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Prepared:
    """A problem made native, with everything that verification and sampling need."""

    framework: Framework
    graph: Graph
    parameters: Arrays
    batch: Arrays
    digests: dict[str, str]
    program: Program
    build: Callable[..., Program]
    step: Callable[[Any], Any]
    native_batch: Any
    feed: Feeding


def _prepare(job: Job, channel: Channel, stages: Stages) -> Prepared:
    plugin = load_framework_plugin(job.framework)
    with stages.stage("import"):
        framework = load_framework(plugin)
        from benchmarker.worker import values
        from benchmarker.worker.batches import Feeding, mini_batches
    stages.out_of_memory_signs = tuple(framework.out_of_memory_signs())
    with stages.stage("device"):
        device_name = framework.configure(job.device, threads=job.threads, seed=job.seed)
    with stages.stage("initialise"):
        graph = problem_graph(job, job.batch_size)
        check_operators(graph, framework.operators, plugin.name)
        parameters = values.draw_parameters(graph, job.seed)
        batches = mini_batches(graph, job.seed, job.data)
    options = parse_options(plugin.options, job.framework_options, f"framework '{plugin.name}'")

    def build(graph: Graph, values: Arrays | None = None, mode: str = job.mode) -> Program:
        return framework.build(
            graph,
            parameters if values is None else values,
            mode=mode,
            device=job.device,
            precision=job.precision,
            optimizer=job.optimizer,
            options=options,
        )

    with stages.stage("build"):
        program = build(graph)
        feed = Feeding(batches, program.load, job.inputs)
    digests = {"parameters": values.digest(parameters), "batch": values.digest(feed.first)}
    channel.send(
        "prepared",
        version=framework.version(),
        device_name=device_name,
        composed_operators=composed_operators(graph, framework.operators),
        digests=digests,
    )
    step = feed.step(program.train_step if job.mode == "training" else program.infer)
    batch, native_batch = feed.first, feed.native_first
    return Prepared(framework, graph, parameters, batch, digests, program, build, step, native_batch, feed)


def run(job: Job, channel: Channel, stages: Stages) -> None:
    """Run the job and send its result."""
    prepared = _prepare(job, channel, stages)
    if job.reference is None:
        with stages.stage("compile"):
            first = prepared.step(prepared.feed())
            prepared.program.synchronize(first)
    else:
        from benchmarker.worker.verified_start import verified_start

        first, verification = verified_start(job, prepared, Path(job.reference), stages)
        channel.send("verification", **verification.to_json())
        if verification.status == "failed":
            return
    loss_first = _consume(job, prepared.program, first)
    _measure(job, prepared, channel, stages, loss_first)


def _consume(job: Job, program: Program, output: Any) -> float | None:
    """Bring a step's result to NumPy, so that none goes unused; return it if it is a finite loss."""
    arrays = program.fetch(output)
    if job.mode != "training":
        return None
    value = float(arrays[0])
    return value if math.isfinite(value) else None


def _measure(
    job: Job, prepared: Prepared, channel: Channel, stages: Stages, loss_first: float | None
) -> None:
    from benchmarker.worker import sampling

    program, step, feed = prepared.program, prepared.step, prepared.feed

    def report(done: int, seconds: float, total: int | None = None) -> None:
        channel.send("progress", done=done, total=total, step_seconds=seconds)

    with stages.stage("warmup"):
        warm = sampling.warm_up(step, program.synchronize, feed, job.warmup, report=report)
    estimate = warm.median_seconds if warm.nanoseconds else stages.seconds["compile"]
    steps = None if job.window_seconds else job.steps or sampling.choose_steps(estimate)
    channel.send("ready", steps=steps, step_seconds=estimate)
    channel.wait_for("go")
    sampling.quieten_garbage_collector()
    facts.reset_peak_memory()
    with stages.stage("measure"):
        samples = _timed(job, prepared, steps, report)
    peak = facts.peak_memory()
    with stages.stage("evaluate"):
        accuracy = _accuracy(job, prepared)
    channel.send(
        "result",
        accuracy=accuracy,
        seconds=stages.seconds,
        warmup_steps=len(warm.nanoseconds),
        samples_nanoseconds=samples.nanoseconds.tolist(),
        wall_nanoseconds=samples.wall_nanoseconds,
        loss_first=loss_first,
        loss_last=_consume(job, program, samples.output),
        data={"distinct_batches": feed.distinct, **feed.digests()},
        memory={"peak_bytes": peak, "framework": program.memory()},
        libraries=prepared.framework.libraries(),
        packages=facts.packages(),
        python=facts.python(),
        **facts.clock(),
    )


def _timed(job: Job, prepared: Prepared, steps: int | None, report: Callable[..., None]) -> Samples:
    """Time the steps, or as many as the window holds."""
    from benchmarker.worker import sampling

    what = (prepared.step, prepared.program.synchronize, prepared.feed)
    if steps is None:
        return sampling.sample_window(*what, job.window_seconds or 0.0, report=report)
    return sampling.sample(*what, steps, report=lambda done, seconds: report(done, seconds, steps))


def _accuracy(job: Job, prepared: Prepared) -> float | None:
    """Return how well the trained program classifies a data set; drawn labels mean nothing."""
    if job.data is None or job.mode != "training":
        return None
    from benchmarker.worker.batches import mini_batches
    from benchmarker.worker.evaluation import accuracy

    def build(graph: Graph, parameters: Arrays) -> Program:
        return prepared.build(graph, parameters, "inference")

    batches = mini_batches(prepared.graph, job.seed, job.data)
    return accuracy(prepared.graph, batches, prepared.program.parameters(), build)
