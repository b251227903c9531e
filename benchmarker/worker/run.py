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
from benchmarker.worker.job import Job, load_framework, load_framework_plugin, load_problem
from benchmarker.worker.stages import Stages

if TYPE_CHECKING:
    import numpy.typing as npt

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
    build: Callable[[Graph], Program]
    step: Callable[[Any], Any]
    native_batch: Any


def problem_graph(job: Job, batch_size: int) -> Graph:
    """Build the job's graph: with its loss in training, without in inference."""
    graph = load_problem(job.problem).graph(batch_size, **job.problem_parameters)
    return graph if job.mode == "training" else graph.without_loss()


def _prepare(job: Job, channel: Channel, stages: Stages) -> Prepared:
    plugin = load_framework_plugin(job.framework)
    with stages.stage("import"):
        framework = load_framework(plugin)
        from benchmarker.worker import values
    stages.out_of_memory_signs = tuple(framework.out_of_memory_signs())
    with stages.stage("device"):
        device_name = framework.configure(job.device, threads=job.threads, seed=job.seed)
    with stages.stage("initialise"):
        graph = problem_graph(job, job.batch_size)
        check_operators(graph, framework.operators, plugin.name)
        parameters = values.draw_parameters(graph, job.seed)
        batch = values.draw_batch(graph, job.seed)
    options = parse_options(plugin.options, job.framework_options, f"framework '{plugin.name}'")

    def build(graph: Graph) -> Program:
        return framework.build(
            graph,
            parameters,
            mode=job.mode,
            device=job.device,
            precision=job.precision,
            optimizer=job.optimizer,
            options=options,
        )

    with stages.stage("build"):
        program = build(graph)
        native_batch = program.load(batch)
    digests = {"parameters": values.digest(parameters), "batch": values.digest(batch)}
    channel.send(
        "prepared",
        version=framework.version(),
        device_name=device_name,
        composed_operators=composed_operators(graph, framework.operators),
        digests=digests,
    )
    step = program.train_step if job.mode == "training" else program.infer
    return Prepared(framework, graph, parameters, batch, digests, program, build, step, native_batch)


def run(job: Job, channel: Channel, stages: Stages) -> None:
    """Run the job and send its result."""
    prepared = _prepare(job, channel, stages)
    if job.reference is None:
        with stages.stage("compile"):
            first = prepared.step(prepared.native_batch)
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

    program, step, batch = prepared.program, prepared.step, prepared.native_batch

    def report(done: int, seconds: float, total: int | None = None) -> None:
        channel.send("progress", done=done, total=total, step_seconds=seconds)

    with stages.stage("warmup"):
        warm = sampling.warm_up(step, program.synchronize, batch, job.warmup, report=report)
    estimate = warm.median_seconds if warm.nanoseconds else stages.seconds["compile"]
    steps = job.steps or sampling.choose_steps(estimate)
    channel.send("ready", steps=steps, step_seconds=estimate)
    channel.wait_for("go")
    sampling.quieten_garbage_collector()
    facts.reset_peak_memory()
    with stages.stage("measure"):
        samples = sampling.sample(
            step,
            program.synchronize,
            batch,
            steps,
            report=lambda done, seconds: report(done, seconds, steps),
        )
    channel.send(
        "result",
        seconds=stages.seconds,
        warmup_steps=len(warm.nanoseconds),
        samples_nanoseconds=samples.nanoseconds.tolist(),
        loss_first=loss_first,
        loss_last=_consume(job, program, samples.output),
        memory={"peak_bytes": facts.peak_memory(), "framework": program.memory()},
        libraries=prepared.framework.libraries(),
        packages=facts.packages(),
        python=facts.python(),
        **facts.clock(),
    )
